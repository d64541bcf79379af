#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/job.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class JobReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("job_reader_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
    // Two NVLink domains of four GPUs.
    Write("cluster.json",
          R"json({"domains": [{"type": "gb200-nvl72", "gpus": 4, "count": 2}]})json");
    Write("model.json", R"json({"b": {"shape": [8, 2], "dtype": "BF16"},
                                "a": {"shape": [4], "dtype": "F32"}})json");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  std::string Path(const std::string& name) { return (folder_ / name).string(); }

  static std::string Rows(int ranks) {  // all tensors by rows over all ranks
    return R"json({"explicit": {"meshes": {"m": {"axes": [["x", )json" + std::to_string(ranks) +
           R"json(]]}}, "tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}]}})json";
  }
  static std::string Side(const std::string& gpus, const std::string& layout) {
    return "{\"gpus\": \"" + gpus + "\", \"layout\": " + layout + "}";
  }
  static std::string JobText(const std::string& source, const std::string& destination,
                             const std::string& options = "{}") {
    return R"json({"cluster": "cluster.json", "model": "model.json", "source": )json" + source +
           ", \"destination\": " + destination + ", \"options\": " + options + "}";
  }

  Result<Job> Read(const std::string& text,
                   const std::vector<std::pair<std::string, std::string>>& settings = {}) {
    Write("job.json", text);
    return ReadJob(Path("job.json"), settings);
  }
  Job MustRead(const std::string& text) {
    Result<Job> job = Read(text);
    if (!job) {
      ADD_FAILURE() << ToString(job.error());
      return {};
    }
    return std::move(*job);
  }
  // The one line, without the folder's path.
  std::string Refusal(const std::string& text,
                      const std::vector<std::pair<std::string, std::string>>& settings = {}) {
    const Result<Job> job = Read(text, settings);
    if (job) return "accepted";
    EXPECT_EQ(job.error().fault, Fault::kInput);
    std::string line = ToString(job.error());
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const std::string prefix = folder_.string() + "/";
    for (std::size_t at = line.find(prefix); at != std::string::npos; at = line.find(prefix)) {
      line.erase(at, prefix.size());
    }
    return line;
  }

  std::filesystem::path folder_;
};

TEST_F(JobReaderTest, RanksAreTheSortedUnion) {
  const Job job = MustRead(JobText(Side("6,0,1,2", Rows(4)), Side("1,7", Rows(2))));
  ASSERT_EQ(job.records.ranks.size(), 5U);
  std::vector<std::int32_t> gpus;
  for (const Rank& rank : job.records.ranks) gpus.push_back(rank.gpu);
  EXPECT_THAT(gpus, ElementsAre(0, 1, 2, 6, 7));
  const Rank& both = job.records.ranks[1];
  EXPECT_EQ(both.source_group, 0);
  EXPECT_EQ(both.destination_group, 0);
  EXPECT_EQ(job.records.ranks[0].destination_layout, kNoLayout);
  EXPECT_EQ(job.records.ranks[4].source_layout, kNoLayout);
  EXPECT_EQ(job.records.ranks[3].domain, 1);
  // The order of "gpus" is that of the group's ranks: GPU 6 is rank 0 and holds rows 0, 1 of b.
  const RankLayout& first =
      job.records.layouts[static_cast<std::size_t>(job.records.ranks[3].source_layout)];
  EXPECT_EQ(first.regions[1].begin[0], 0);
  const RankLayout& last =
      job.records.layouts[static_cast<std::size_t>(job.records.ranks[2].source_layout)];
  EXPECT_EQ(last.regions[1].begin[0], 6);
}

TEST_F(JobReaderTest, TensorsAreSortedAndLayoutsSharedAcrossGroupsAndSides) {
  const std::string whole =
      R"json({"explicit": {"meshes": {"m": {"axes": [["dp", 2]]}},
              "tensors": [{"match": "*", "mesh": "m", "placements": ["R"]}]}})json";
  const Job job = MustRead(
      JobText(Side("0-1", whole), "[" + Side("2-3", whole) + ", " + Side("4-5", whole) + "]"));
  EXPECT_EQ(job.records.tensors[0].name, "a");
  EXPECT_EQ(job.records.tensors[1].name, "b");
  EXPECT_EQ(job.records.layouts.size(), 1U);
  EXPECT_EQ(job.records.ranks[4].destination_group, 1);
  EXPECT_THAT(job.notices.lacking, IsEmpty());
  EXPECT_THAT(job.notices.untouched, IsEmpty());
}

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

// Case C15: a name that only one side has is never skipped in silence.
TEST_F(JobReaderTest, TensorsOfOneSideAloneAreRefusedUnlessIgnored) {
  Write("model.json", R"json({"w": {"shape": [4], "dtype": "BF16"},
                              "draft.w": {"shape": [4], "dtype": "BF16"},
                              "expert_bias": {"shape": [256], "dtype": "F32"},
                              "frozen": {"shape": [2], "dtype": "BF16"}})json");
  const auto layout = [](const std::string& not_held) {
    return R"json({"explicit": {"meshes": {"m": {"axes": [["x", 2]]}}, "tensors": [)json" +
           not_held + R"json({"match": "*", "mesh": "m", "placements": ["S(0)"]}]}})json";
  };
  const std::string no_frozen = R"json({"match": "frozen", "held": false}, )json";
  const std::string no_draft = R"json({"match": "draft.*", "held": false}, )json" + no_frozen;
  const std::string source = Side("0-1", layout(no_draft));
  const std::string destination = Side("2-3", layout(no_frozen));
  EXPECT_EQ(
      Refusal(JobText(source, destination)),
      "job.json: only the destination holds tensor draft.w; name what shall stay where it is in "
      "options.ignore");
  const Job job = MustRead(JobText(source, destination, R"json({"ignore": ["draft.*"]})json"));
  ASSERT_EQ(job.records.tensors.size(), 2U);
  EXPECT_EQ(job.records.tensors[0].name, "expert_bias");  // F32 beside BF16
  EXPECT_EQ(job.records.tensors[0].dtype, DType::kF32);
  EXPECT_EQ(job.records.tensors[1].name, "w");
  EXPECT_THAT(job.notices.untouched, ElementsAre("draft.w", "frozen"));
  // The destination still has the parameter; nothing of it is declared.
  const RankLayout& holder =
      job.records.layouts[static_cast<std::size_t>(job.records.ranks[2].destination_layout)];
  ASSERT_EQ(holder.parameters.size(), 3U);
  EXPECT_EQ(holder.parameters[0].name, "draft.w");
  EXPECT_EQ(holder.regions.size(), 2);
  EXPECT_EQ(holder.regions[0].tensor, 0);
  EXPECT_EQ(holder.regions[1].tensor, 1);

  const std::string bare = Side("0-1", layout(R"json({"match": "*", "held": false}, )json"));
  EXPECT_THAT(Refusal(JobText(bare, destination)),
              HasSubstr("only the destination holds 3 tensors: draft.w, expert_bias, w;"));
}

TEST_F(JobReaderTest, GroupsThatLackTensorsAreNamed) {
  const std::string without_a =
      R"json({"explicit": {"meshes": {"m": {"axes": [["x", 2]]}},
              "tensors": [{"match": "a", "held": false},
                          {"match": "*", "mesh": "m", "placements": ["R"]}]}})json";
  const Job job = MustRead(JobText(
      Side("0-1", Rows(2)), "[" + Side("2-3", Rows(2)) + "," + Side("4-5", without_a) + "]"));
  EXPECT_THAT(job.notices.lacking, ElementsAre("destination group 1 lacks 1 tensor: a"));
  EXPECT_EQ(job.records.tensors.size(), 2U);
}

TEST_F(JobReaderTest, TensorsWithoutElementsMoveTrivially) {
  Write("model.json", R"json({"none": {"shape": [0, 2], "dtype": "BF16"},
                              "w": {"shape": [4], "dtype": "BF16"}})json");
  const Job job = MustRead(JobText(Side("0-1", Rows(2)), Side("2-3", Rows(2))));
  EXPECT_EQ(job.records.tensors.size(), 2U);
  EXPECT_THAT(job.notices.untouched, IsEmpty());
}

TEST_F(JobReaderTest, OverlappingDestinationRegionsAreRefused) {
  const std::string regions =
      R"json({"explicit": {"regions": [
        {"rank": 0, "tensor": "a", "box": [[0, 4]], "parameter": "p", "shape": [6], "at": [0]},
        {"rank": 0, "tensor": "c", "box": [[0, 3]], "parameter": "p", "shape": [6], "at": [3]}]}})json";
  Write("model.json", R"json({"a": {"shape": [4], "dtype": "F32"},
                              "c": {"shape": [3], "dtype": "F32"}})json");
  EXPECT_EQ(
      Refusal(JobText(Side("0-1", Rows(2)), Side("5", regions))),
      "job.json: destination: on GPU 5 parameter p has overlapping regions, of tensor a and of "
      "tensor c; let every element of a destination parameter be written once");
  // A source may hold a byte twice.
  EXPECT_EQ(Refusal(JobText(Side("5", regions), Side("0-1", Rows(2)))), "accepted");
}

TEST_F(JobReaderTest, InPlacePairsMustExistTogether) {
  const std::string options = R"json({"inPlace": [["b", "b"], ["a", "z"]]})json";
  EXPECT_EQ(
      Refusal(JobText(Side("0-1", Rows(2)), Side("0-1", Rows(2)), options)),
      "job.json: options.inPlace: no rank has both source parameter a and destination parameter "
      "z");
  EXPECT_THAT(Refusal(JobText(Side("0-1", Rows(2)), Side("2-3", Rows(2)),
                              R"json({"inPlace": [["b", "b"]]})json")),
              HasSubstr("no rank has both source parameter b"));
  const Job job = MustRead(
      JobText(Side("0-1", Rows(2)), Side("1-2", Rows(2)), R"json({"inPlace": [["b", "b"]]})json"));
  ASSERT_EQ(job.records.in_place.size(), 1U);
  EXPECT_EQ(job.records.in_place[0].source_parameter, "b");
}

TEST_F(JobReaderTest, GpusThatCannotBeAreRefused) {
  const std::string good = Side("0-1", Rows(2));
  EXPECT_EQ(Refusal(JobText(Side("7-8", Rows(2)), good)),
            "job.json: source.gpus: index 8 is out of range: there are 8, numbered from 0");
  EXPECT_EQ(Refusal(JobText(good, "[" + Side("2-3", Rows(2)) + "," + Side("3-4", Rows(2)) + "]")),
            "job.json: destination.1.gpus: GPU 3 is in another group of this side already");
  EXPECT_THAT(Refusal(JobText(good, "[]")), HasSubstr("destination: a side without groups"));
  Write("cluster.json", R"json({"domains": [{"type": "gb200-nvl72", "gpus": 4}],
                                "overrides": [{"gpu": 2, "dead": true}]})json");
  EXPECT_EQ(Refusal(JobText(good, Side("2-3", Rows(2)))),
            "job.json: destination.gpus: GPU 2 is dead in this cluster; leave it out");
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
  EXPECT_EQ(Refusal(JobText(Side("0-3", R"json({"fsdp": {}})json"), destination)),
            "job.json: source.layout: layout kind 'fsdp' is not supported; use one of explicit, "
            "megatron, vllm");
  EXPECT_THAT(Refusal(JobText(Side("0-3", "{}"), destination)),
              HasSubstr("source.layout: expected one kind of layout, got 0"));
  EXPECT_THAT(
      Refusal(JobText(R"json({"gpus": "0", "layout": {"hf": {}}, "casts": []})json", destination)),
      HasSubstr("source.casts: casts are not supported"));
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
