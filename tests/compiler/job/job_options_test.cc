#include "compiler/job/job_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "foundation/json_writer.h"
#include "foundation/strict_json.h"

namespace reshard {
namespace {

using testing::HasSubstr;

Result<JobOptions> Read(std::string_view text) {
  const JsonDocument document = *ParseJson(text, "job.json");
  return ReadJobOptions(JsonCursor(document));
}

std::string Refusal(std::string_view text) {
  const Result<JobOptions> options = Read(text);
  return options ? "accepted" : ToString(options.error());
}

TEST(JobOptionsTest, AbsentOptionsAreTheDefaults) {
  const Result<JobOptions> options = ReadJobOptions(std::nullopt);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->options, Options());
  EXPECT_EQ(options->options.staging_bytes, std::int64_t{2048} << 20);
  EXPECT_EQ(CanonicalJson(JobOptionsToJson(*options)),
            CanonicalJson(JobOptionsToJson(*Read("{}"))));
}

TEST(JobOptionsTest, EveryFieldIsRead) {
  const Result<JobOptions> options = Read(R"json({
      "planner": "direct", "stagingMiB": 0.5, "chunkMiB": 3, "maxOpsPerGroup": 7, "maxPeers": 5,
      "nicShare": 0.25, "ignore": ["b*", "a.{i}.*", "b*"],
      "inPlace": [["y", "z"], ["x", "x"], ["y", "z"]]})json");
  ASSERT_TRUE(options.has_value()) << ToString(options.error());
  EXPECT_EQ(options->options.planner, "direct");
  EXPECT_EQ(options->options.staging_bytes, 524288);
  EXPECT_EQ(options->options.chunk_bytes, 3145728);
  EXPECT_EQ(options->options.max_ops_per_group, 7);
  EXPECT_EQ(options->options.max_peers, 5);
  EXPECT_EQ(options->options.nic_share, 0.25);
  ASSERT_EQ(options->ignore.size(), 2U);
  EXPECT_EQ(options->ignore[0].text(), "a.{i}.*");
  EXPECT_EQ(options->ignore[1].text(), "b*");
  ASSERT_EQ(options->in_place.size(), 2U);
  EXPECT_EQ(options->in_place[0].source_parameter, "x");
  EXPECT_EQ(options->in_place[1].destination_parameter, "z");
}

TEST(JobOptionsTest, JsonReadsBack) {
  for (const char* text :
       {"{}", R"json({"stagingMiB": 0.1, "chunkMiB": 0.000001, "nicShare": 0.1})json",
        R"json({"maxPeers": 9223372036854775807, "ignore": ["*"], "inPlace": [["a", "b"]]})json"}) {
    const Result<JobOptions> options = Read(text);
    ASSERT_TRUE(options.has_value()) << ToString(options.error());
    const std::string canonical = CanonicalJson(JobOptionsToJson(*options));
    const Result<JobOptions> again = Read(canonical);
    ASSERT_TRUE(again.has_value()) << canonical << ToString(again.error());
    EXPECT_EQ(again->options, options->options) << canonical;
    EXPECT_EQ(again->in_place, options->in_place);
    EXPECT_EQ(CanonicalJson(JobOptionsToJson(*again)), canonical);
  }
}

TEST(JobOptionsTest, RefusalsNameTheField) {
  EXPECT_THAT(Refusal(R"json({"stagingMB": 4})json"), HasSubstr("unknown field 'stagingMB'"));
  EXPECT_THAT(Refusal(R"json({"stagingMiB": 0})json"), HasSubstr("job.json: stagingMiB: "));
  EXPECT_THAT(Refusal(R"json({"stagingMiB": 1e12})json"), HasSubstr("job.json: stagingMiB: "));
  EXPECT_THAT(Refusal(R"json({"chunkMiB": 1e-9})json"), HasSubstr("chunkMiB: is less than a byte"));
  EXPECT_THAT(Refusal(R"json({"maxOpsPerGroup": 0})json"), HasSubstr("maxOpsPerGroup: "));
  EXPECT_THAT(Refusal(R"json({"maxPeers": 0})json"), HasSubstr("maxPeers: "));
  EXPECT_THAT(Refusal(R"json({"nicShare": 0})json"), HasSubstr("nicShare: "));
  EXPECT_THAT(Refusal(R"json({"nicShare": 1.5})json"), HasSubstr("nicShare: "));
  EXPECT_THAT(Refusal(R"json({"planner": 3})json"), HasSubstr("planner: "));
  EXPECT_EQ(Refusal(R"json({"ignore": ["a", "b{"]})json"),
            "job.json: ignore.1: pattern 'b{': '{' without '}'");
  EXPECT_EQ(Refusal(R"json({"inPlace": [["a", "b", "c"]]})json"),
            "job.json: inPlace.0: expected [source parameter, destination parameter]");
}

}  // namespace
}  // namespace reshard
