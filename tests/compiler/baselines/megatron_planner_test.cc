#include "compiler/baselines/megatron_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(MegatronPlannerTest, OneDataParallelGroupSendsAllFromItsFirstRank) {
  // Known output: TP1 DP8 -> TP1 DP8 sends all from rank 0.
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  for (int i = 0; i < 8; ++i) builder.AddSource({Rows("w", 0, 8, 4)});
  for (int i = 0; i < 8; ++i) builder.AddDestination({Rows("w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 16, 400, 50);
  const auto bytes = BytesByEnds(MakeBaselinePlan("megatron", builder.On(cluster), cluster));
  EXPECT_THAT(bytes, SizeIs(8));
  for (RankIndex rank = 8; rank < 16; ++rank) EXPECT_EQ(bytes.at({0, rank}), 128);
}

TEST(MegatronPlannerTest, TwoPartsBecomeThreeInSixTiles) {
  // Known output: TP2 -> TP3 on (12, 4) takes 6 transfers, where 4 would do.
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {12, 4});
  for (int i = 0; i < 2; ++i) builder.AddSource(ChunkedRows("w", 12, 4, 2, i));
  for (int i = 0; i < 3; ++i) builder.AddDestination(ChunkedRows("w", 12, 4, 3, i));
  const Cluster cluster = UniformCluster(1, 5, 400, 50);
  const Plan plan = MakeBaselinePlan("megatron", builder.On(cluster), cluster);
  EXPECT_EQ(Operations(plan), 6);
  EXPECT_THAT(BytesByEnds(plan), ElementsAre(Pair(Ends(0, 2), 64), Pair(Ends(0, 3), 32),
                                             Pair(Ends(1, 3), 32), Pair(Ends(1, 4), 64)));
  EXPECT_TRUE(plan.traffic->streams[0].phases[0].copies.empty());  // rows are runs of bytes
}

TEST(MegatronPlannerTest, SeveralDataParallelGroupsTakeTurns) {
  // TP2 DP2: data-parallel groups {0, 2} and {1, 3}; a norm is on all four. Rank r takes member
  // (r div 2) mod 2 of group r mod 2: rank 4 -> 0, rank 5 -> 1, rank 6 -> 2, rank 7 -> 3.
  JobRecordsBuilder builder;
  builder.AddTensor("norm.weight", DType::kF32, {8, 4});
  for (int i = 0; i < 4; ++i) builder.AddSource({Rows("norm.weight", 0, 8, 4)});
  for (int i = 0; i < 4; ++i) builder.AddDestination({Rows("norm.weight", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 8, 400, 50);
  const Plan plan =
      MakeBaselinePlan("megatron", builder.On(cluster), cluster,
                       R"({"source": {"gpus": "0-3", "layout": {"megatron": {"tensor": 2}}}})");
  EXPECT_THAT(BytesByEnds(plan), ElementsAre(Pair(Ends(0, 4), 128), Pair(Ends(1, 5), 128),
                                             Pair(Ends(2, 6), 128), Pair(Ends(3, 7), 128)));
}

TEST(MegatronPlannerTest, WhoHoldsATileKeepsItsOwn) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  builder.AddSource({Rows("w", 0, 8, 4)});
  builder.AddBoth({Rows("w", 0, 8, 4)}, {Rows("w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 2, 400, 50);
  const Plan plan = MakeBaselinePlan("megatron", builder.On(cluster), cluster);
  EXPECT_TRUE(BytesByEnds(plan).empty());
}

TEST(MegatronPlannerTest, SaysWhatItCannotExpress) {
  JobRecordsBuilder builder;
  builder.AddTensor("columns", DType::kF32, {8, 4});
  builder.AddTensor("even", DType::kF32, {8, 4});
  builder.AddTensor("uneven", DType::kF32, {8, 4});
  builder.AddSource({Rows("columns", 0, 4, 4), Rows("even", 0, 4, 4), Rows("uneven", 0, 5, 4)});
  builder.AddSource({Rows("columns", 4, 8, 4), Rows("even", 4, 8, 4), Rows("uneven", 5, 8, 4)});
  builder.AddDestination(
      {{"columns", {0, 0}, {8, 2}}, Rows("even", 0, 8, 4), Rows("uneven", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Plan plan = MakeBaselinePlan("megatron", builder.On(cluster), cluster);
  EXPECT_THAT(BytesByEnds(plan), ElementsAre(Pair(Ends(0, 2), 64), Pair(Ends(1, 2), 64)));
  // Half of "columns" is needed, all of "uneven".
  EXPECT_THAT(plan.traffic->omissions,
              ElementsAre(Omission{0, 1, "on the destination cut into unequal parts", 64},
                          Omission{2, 1, "on the source cut into unequal parts", 128}));
}

TEST(MegatronPlannerTest, TilesOfColumnsArePacked) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  builder.AddSource({Rows("w", 0, 8, 4)});
  for (std::int64_t i = 0; i < 2; ++i) builder.AddDestination({{"w", {0, 2 * i}, {8, 2}}});
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Plan plan = MakeBaselinePlan("megatron", builder.On(cluster), cluster);
  EXPECT_THAT(plan.traffic->streams[0].phases[0].copies, ElementsAre(TrafficCopy{0, 128, 0}));
}

}  // namespace
}  // namespace reshard
