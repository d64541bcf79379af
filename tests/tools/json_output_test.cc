#include "tools/json_output.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace reshard {
namespace {

TEST(JsonReport, WritesOneFieldALineInTheGivenOrder) {
  JsonValue::Object fields;
  fields.emplace_back("rounds", 198);
  fields.emplace_back("bytes", std::numeric_limits<std::int64_t>::max());
  fields.emplace_back("boundBy", "domain 2 ingress");
  fields.emplace_back("untouched", JsonList({"a", "b"}));
  EXPECT_EQ(JsonReport(fields),
            "{\n"
            "  \"rounds\": 198,\n"
            "  \"bytes\": 9223372036854775807,\n"
            "  \"boundBy\": \"domain 2 ingress\",\n"
            "  \"untouched\": [\"a\", \"b\"]\n"
            "}\n");
}

TEST(JsonReport, WritesDoublesThatReadBackEqual) {
  const double seconds = 0.1 + 0.2;  // 0.30000000000000004
  const std::string text = JsonReport({{"predictedSeconds", seconds}});
  EXPECT_EQ(std::stod(text.substr(text.find(':') + 1)), seconds);
}

TEST(JsonReport, WritesNullForWhatIsNoNumber) {
  JsonValue::Object fields;
  fields.emplace_back("gap", JsonOrNull(std::nullopt));
  fields.emplace_back("share", JsonOrNull(std::numeric_limits<double>::infinity()));
  fields.emplace_back("busy", JsonOrNull(0.5));
  EXPECT_EQ(JsonReport(fields), "{\n  \"gap\": null,\n  \"share\": null,\n  \"busy\": 0.5\n}\n");
}

TEST(JsonReport, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(JsonReport({{"name", "a\xFF\"b\n"}}), "{\n  \"name\": \"a\xEF\xBF\xBD\\\"b\\n\"\n}\n");
}

}  // namespace
}  // namespace reshard
