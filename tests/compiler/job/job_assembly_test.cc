#include "compiler/job/job_assembly.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/compiler/job_fixture.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using JobAssemblyTest = JobFixture;

TEST_F(JobAssemblyTest, RanksAreTheSortedUnion) {
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

TEST_F(JobAssemblyTest, TensorsAreSortedAndLayoutsSharedAcrossGroupsAndSides) {
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

// Case C15: a name that only one side has is never skipped in silence.
TEST_F(JobAssemblyTest, TensorsOfOneSideAloneAreRefusedUnlessIgnored) {
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

TEST_F(JobAssemblyTest, GroupsThatLackTensorsAreNamed) {
  const std::string without_a =
      R"json({"explicit": {"meshes": {"m": {"axes": [["x", 2]]}},
              "tensors": [{"match": "a", "held": false},
                          {"match": "*", "mesh": "m", "placements": ["R"]}]}})json";
  const Job job = MustRead(JobText(
      Side("0-1", Rows(2)), "[" + Side("2-3", Rows(2)) + "," + Side("4-5", without_a) + "]"));
  EXPECT_THAT(job.notices.lacking, ElementsAre("destination group 1 lacks 1 tensor: a"));
  EXPECT_EQ(job.records.tensors.size(), 2U);
}

TEST_F(JobAssemblyTest, TensorsWithoutElementsMoveTrivially) {
  Write("model.json", R"json({"none": {"shape": [0, 2], "dtype": "BF16"},
                              "w": {"shape": [4], "dtype": "BF16"}})json");
  const Job job = MustRead(JobText(Side("0-1", Rows(2)), Side("2-3", Rows(2))));
  EXPECT_EQ(job.records.tensors.size(), 2U);
  EXPECT_THAT(job.notices.untouched, IsEmpty());
}

TEST_F(JobAssemblyTest, OverlappingDestinationRegionsAreRefused) {
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

TEST_F(JobAssemblyTest, InPlacePairsMustExistTogether) {
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

}  // namespace
}  // namespace reshard
