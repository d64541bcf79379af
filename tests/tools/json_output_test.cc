#include "tools/json_output.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace reshard {
namespace {

TEST(JsonObject, KeepsTheOrderOfItsFields) {
  JsonObject object;
  object.Add("rounds", std::int64_t{198});
  object.Add("bytes", std::numeric_limits<std::int64_t>::max());
  object.Add("boundBy", "domain 2 ingress");
  EXPECT_EQ(object.Text(),
            "{\n"
            "  \"rounds\": 198,\n"
            "  \"bytes\": 9223372036854775807,\n"
            "  \"boundBy\": \"domain 2 ingress\"\n"
            "}\n");
}

TEST(JsonObject, WritesDoublesThatReadBackEqual) {
  const double seconds = 0.1 + 0.2;  // 0.30000000000000004
  JsonObject object;
  object.Add("predictedSeconds", seconds);
  const std::string text = object.Text();
  EXPECT_EQ(std::stod(text.substr(text.find(':') + 1)), seconds);
}

TEST(JsonObject, WritesNullForWhatIsNoNumber) {
  JsonObject object;
  object.Add("gap", std::optional<double>());
  object.Add("share", std::numeric_limits<double>::infinity());
  EXPECT_EQ(object.Text(),
            "{\n"
            "  \"gap\": null,\n"
            "  \"share\": null\n"
            "}\n");
}

TEST(JsonObject, ReplacesBytesThatAreNoText) {
  JsonObject object;
  object.Add("name", "a\xFF\"b\n");
  EXPECT_EQ(object.Text(), "{\n  \"name\": \"a\xEF\xBF\xBD\\\"b\\n\"\n}\n");
}

TEST(JsonObject, NestsObjectsAndLists) {
  JsonObject inner;
  inner.AddFlag("same", true);
  std::vector<JsonObject> list;
  list.push_back(std::move(inner));
  JsonObject object;
  object.Add("ranks", std::move(list));
  object.Add("untouched", std::vector<std::string>{"a", "b"});
  EXPECT_EQ(object.Text(),
            "{\n"
            "  \"ranks\": [\n"
            "    {\n"
            "      \"same\": true\n"
            "    }\n"
            "  ],\n"
            "  \"untouched\": [\n"
            "    \"a\",\n"
            "    \"b\"\n"
            "  ]\n"
            "}\n");
}

}  // namespace
}  // namespace reshard
