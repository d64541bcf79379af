#include "foundation/json_writer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "foundation/strict_json.h"

namespace reshard {
namespace {

TEST(CanonicalJsonTest, SortsKeysBytewiseAtEveryLevel) {
  const JsonValue value(JsonValue::Object{{"b", JsonValue::Object{{"z", 1}, {"Z", 2}}},
                                          {"a", JsonValue::Array{3, 1, 2}},
                                          {"aa", true}});
  EXPECT_EQ(CanonicalJson(value), R"({"a":[3,1,2],"aa":true,"b":{"Z":2,"z":1}})");
}

TEST(CanonicalJsonTest, FormattingAndOrderDoNotCount) {
  const Result<JsonDocument> one = ParseJson(R"({"x":2,"y":[0.5,"é"]})", "one");
  const Result<JsonDocument> two =
      ParseJson("{ \"y\" : [ 5e-1,\n\t\"\\u00e9\" ], \"x\": 2.0 }", "two");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(CanonicalJson(one->root), CanonicalJson(two->root));
}

TEST(CanonicalJsonTest, EscapesWhatJsonMust) {
  EXPECT_EQ(CanonicalJson(JsonValue("a\"b\\c\n\x01")), R"("a\"b\\c\n\u0001")");
  EXPECT_EQ(CanonicalJson(JsonValue("\xff")), "\"\xef\xbf\xbd\"");  // not UTF-8: U+FFFD
}

TEST(CanonicalJsonTest, NumbersAreShortest) {
  EXPECT_EQ(CanonicalJson(JsonValue(0.1)), "0.1");
  EXPECT_EQ(CanonicalJson(JsonValue(48.0)), "48");
  EXPECT_EQ(CanonicalJson(JsonValue(1e300)), "1e+300");
  EXPECT_EQ(CanonicalJson(JsonValue(INT64_MIN)), "-9223372036854775808");
}

TEST(CanonicalJsonTest, EveryDoubleReadsBackEqual) {
  std::random_device device;
  const std::uint64_t seed = (std::uint64_t{device()} << 32) | device();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> patterns = {std::bit_cast<std::uint64_t>(9223372036854775808.0),
                                         std::bit_cast<std::uint64_t>(-9223372036854775808.0)};
  for (int i = 0; i < 20000; ++i) patterns.push_back(random());
  for (const std::uint64_t bits : patterns) {
    const auto number = std::bit_cast<double>(bits);
    if (!std::isfinite(number)) continue;
    const JsonValue value(number);
    const Result<JsonDocument> read = ParseJson(CanonicalJson(value), "number");
    ASSERT_TRUE(read) << ToString(read.error());
    ASSERT_EQ(read->root, value) << CanonicalJson(value);
  }
}

TEST(JsonLineTest, KeepsDocumentOrder) {
  const JsonValue value(
      JsonValue::Object{{"rounds", 12}, {"gap", nullptr}, {"names", JsonValue::Array{"a", "b"}}});
  EXPECT_EQ(JsonLine(value), R"({"rounds": 12, "gap": null, "names": ["a", "b"]})");
}

}  // namespace
}  // namespace reshard
