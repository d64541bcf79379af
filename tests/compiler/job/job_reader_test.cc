#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "compiler/job/job.h"
#include "tests/compiler/job_fixture.h"

namespace reshard {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using JobReaderTest = JobFixture;

// Case C23, and promise 6: formatting and the order of names change nothing.
TEST_F(JobReaderTest, FormattingAndOrderOfNamesDoNotCount) {
  const Job a = MustRead(JobText(Side("0-3", Rows(4)), Side("4-5", Rows(2)),
                                 R"json({"stagingMiB": 64, "ignore": ["y*", "x*"]})json"));
  Write("model.json",
        "\n{ \"a\":{\"dtype\":\"F32\",\"shape\":[4.0]},\n\n\"b\" : {\"dtype\":\"BF16\","
        "\"shape\":[8,2],\"data_offsets\":[0,32]},\"__metadata__\":{} }");
  Write("cluster.json", R"json({"domains": [{"count": 1, "gpus": 4, "type": "gb200-nvl72"},
                                            {"gpus": 4, "type": "gb200-nvl72"}]})json");
  const Job b = MustRead(
      "{\"options\": {\"ignore\": [\"x*\", \"y*\"], \"stagingMiB\": 6.4e1, \"planner\": "
      "\"optimal\"},"
      "\"destination\": [{\"layout\": " +
      Rows(2) + ", \"gpus\": \"4,5\"}], \"source\": {\"layout\": " + Rows(4) +
      ", \"gpus\": \"0,1-2,3\"}, \"model\": \"model.json\", \"cluster\": \"cluster.json\"}");
  EXPECT_EQ(a.canonical_json, b.canonical_json);
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.records, b.records);
  EXPECT_EQ(a.digest.size(), 32U);
}

TEST_F(JobReaderTest, CanonicalTextIsTheJobInline) {
  Write("layout.json", R"json({"meshes": {"m": {"axes": [["x", 2]]}},
      "tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}]})json");
  const Job job = MustRead(
      JobText(Side("0-3", Rows(4)), Side("4-5", R"json({"explicit": "layout.json"})json"),
              R"json({"stagingMiB": 0.5, "chunkMiB": 0.25, "maxOpsPerGroup": 7, "maxPeers": 3,
              "nicShare": 0.3, "planner": "direct"})json"));
  EXPECT_EQ(job.records.options.staging_bytes, 524288);
  EXPECT_EQ(job.records.options.chunk_bytes, 262144);
  EXPECT_EQ(job.records.options.max_ops_per_group, 7);
  EXPECT_EQ(job.records.options.max_peers, 3);
  EXPECT_EQ(job.records.options.nic_share, 0.3);
  EXPECT_EQ(job.records.options.planner, "direct");
  std::filesystem::remove_all(folder_);
  const Result<Job> again = ParseJob(job.canonical_json, "plan");
  ASSERT_TRUE(again.has_value()) << ToString(again.error());
  EXPECT_EQ(again->records, job.records);
  EXPECT_EQ(again->notices, job.notices);
  EXPECT_EQ(again->canonical_json, job.canonical_json);
  EXPECT_EQ(again->digest, job.digest);
  EXPECT_EQ(again->cluster.gpus.size(), job.cluster.gpus.size());
}

TEST_F(JobReaderTest, EmbeddedJobsNameNoFiles) {
  const Result<Job> job = ParseJob(JobText(Side("0-3", Rows(4)), Side("4-5", Rows(2))), "plan");
  ASSERT_FALSE(job.has_value());
  EXPECT_EQ(
      ToString(job.error()),
      "plan: cluster: names the file 'cluster.json', but a job inside a plan holds everything "
      "inline");
}

TEST_F(JobReaderTest, SettingsAreEditsOfTheJob) {
  const std::string text = JobText(Side("0-3", Rows(4)), Side("4-5", Rows(2)));
  const Result<Job> job = Read(text, {{"options.stagingMiB", "64"}, {"destination.gpus", "6-7"}});
  ASSERT_TRUE(job.has_value()) << ToString(job.error());
  EXPECT_EQ(job->records.options.staging_bytes, 64 << 20);
  EXPECT_EQ(job->records.ranks.back().gpu, 7);
  EXPECT_THAT(Refusal(text, {{"options.stagingMB", "64"}}),
              HasSubstr("options: unknown field 'stagingMB'"));
}

TEST_F(JobReaderTest, BadInputsGiveOneClearLine) {
  const std::string source = Side("0-3", Rows(4));
  const std::string destination = Side("4-5", Rows(2));
  EXPECT_EQ(Refusal(R"json({"cluster": "cluster.json", "cluster": "cluster.json"})json"),
            "job.json: field 'cluster' stands twice; keep one");
  EXPECT_THAT(Refusal("{\"sourc\": 1}"), HasSubstr("unknown field 'sourc'"));
  EXPECT_THAT(Refusal("{\"sourc\": 1}"), HasSubstr("source"));
  EXPECT_THAT(Refusal(R"json({"cluster": "gone.json", "model": "model.json"})json"),
              StartsWith("gone.json: "));
  EXPECT_THAT(Refusal(R"json({"model": "model.json"})json"), HasSubstr("'cluster' is missing"));
  EXPECT_THAT(Refusal(JobText(Side("0-3", Rows(3)), destination)),
              HasSubstr("the axes have 3 places, but the mesh has 4 ranks"));
  EXPECT_EQ(Refusal(JobText(Side("0-3", R"json({"deepspeed": {}})json"), destination)),
            "job.json: source.layout: layout kind 'deepspeed' is not supported; use one of "
            "explicit, fsdp, hf, megatron, sglang, torchtitan, vllm");
  EXPECT_THAT(Refusal(JobText(Side("0-3", "{}"), destination)),
              HasSubstr("source.layout: expected one kind of layout, got 0"));
  EXPECT_THAT(
      Refusal(JobText(R"json({"gpus": "0", "layout": {"hf": {}}, "casts": {}})json", destination)),
      HasSubstr("source.casts: expected an array"));
  EXPECT_THAT(Refusal(JobText(source, destination, R"json({"nicShare": 0})json")),
              HasSubstr("options.nicShare"));
  EXPECT_THAT(Refusal(JobText(source, destination, R"json({"stagingMiB": "many"})json")),
              HasSubstr("options.stagingMiB: expected a number, got a string"));
  EXPECT_THAT(Refusal(JobText(source, destination, R"json({"stagingMiB": 1e300})json")),
              HasSubstr("options.stagingMiB"));
  EXPECT_THAT(Refusal(JobText(source, destination, R"json({"maxOpsPerGroup": 0})json")),
              HasSubstr("options.maxOpsPerGroup"));
  EXPECT_THAT(Refusal(JobText(source, destination, R"json({"ignore": ["a{"]})json")),
              HasSubstr("options.ignore.0: pattern 'a{': '{' without '}'"));
  EXPECT_THAT(Refusal(JobText(source, destination, R"json({"inPlace": [["a"]]})json")),
              HasSubstr("options.inPlace.0: expected [source parameter, destination parameter]"));
  EXPECT_THAT(Refusal(std::string(100000, '[')), HasSubstr("job.json"));
}

}  // namespace
}  // namespace reshard
