#include "compiler/baselines/direct_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(DirectPlannerTest, SpreadsDestinationReplicasOverSourceReplicas) {
  // 2 replicas serve 4: the first half of them and the second.
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  for (int i = 0; i < 2; ++i) builder.AddSource({Rows("w", 0, 8, 4)});
  for (int i = 0; i < 4; ++i) builder.AddDestination({Rows("w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 6, 400, 50);
  EXPECT_THAT(BytesByEnds(MakeBaselinePlan("direct", builder.On(cluster), cluster)),
              ElementsAre(Pair(Ends(0, 2), 128), Pair(Ends(0, 3), 128), Pair(Ends(1, 4), 128),
                          Pair(Ends(1, 5), 128)));
}

TEST(DirectPlannerTest, MoreSourceReplicasThanDestinationReplicasLeaveSomeIdle) {
  // 5 replicas split over 2: parts [0, 3) and [3, 5), whose first serve.
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  for (int i = 0; i < 5; ++i) builder.AddSource({Rows("w", 0, 8, 4)});
  for (int i = 0; i < 2; ++i) builder.AddDestination({Rows("w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 7, 400, 50);
  EXPECT_THAT(BytesByEnds(MakeBaselinePlan("direct", builder.On(cluster), cluster)),
              ElementsAre(Pair(Ends(0, 5), 128), Pair(Ends(3, 6), 128)));
}

TEST(DirectPlannerTest, SendsEveryNeededPieceAndPacksWhatIsNotOneRun) {
  // Rows over 2 become columns over 2: each pair exchanges a quarter, strided on the source and
  // contiguous on the destination.
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  for (int i = 0; i < 2; ++i) builder.AddSource(ChunkedRows("w", 8, 4, 2, i));
  for (int i = 0; i < 2; ++i) builder.AddDestination({{"w", {0, 2 * i}, {8, 2}}});
  const Cluster cluster = UniformCluster(1, 4, 400, 50);
  const Plan plan = MakeBaselinePlan("direct", builder.On(cluster), cluster);
  EXPECT_THAT(BytesByEnds(plan), ElementsAre(Pair(Ends(0, 2), 32), Pair(Ends(0, 3), 32),
                                             Pair(Ends(1, 2), 32), Pair(Ends(1, 3), 32)));
  EXPECT_EQ(Operations(plan), 4);
  ASSERT_EQ(plan.traffic->streams.size(), 1U);
  ASSERT_EQ(plan.traffic->streams[0].phases.size(), 1U);
  EXPECT_THAT(plan.traffic->streams[0].phases[0].copies,
              ElementsAre(TrafficCopy{0, 64, 0}, TrafficCopy{1, 64, 0}));
  EXPECT_THAT(plan.traffic->staging_bytes, ElementsAre(64, 64, 0, 0));
  EXPECT_TRUE(plan.traffic->omissions.empty());
}

TEST(DirectPlannerTest, NamePatternsFollowEachOtherAndEqualTensorsAddUp) {
  JobRecordsBuilder builder;
  builder.AddTensor("layers.0.a", DType::kF32, {8, 4});
  builder.AddTensor("layers.0.b", DType::kF32, {8, 4});
  builder.AddTensor("layers.1.a", DType::kF32, {8, 4});
  const std::vector<TestBox> all = {Rows("layers.0.a", 0, 8, 4), Rows("layers.0.b", 0, 8, 4),
                                    Rows("layers.1.a", 0, 8, 4)};
  builder.AddSource(all);
  builder.AddDestination(all);
  const Cluster cluster = UniformCluster(1, 2, 400, 50);
  const Plan plan = MakeBaselinePlan("direct", builder.On(cluster), cluster);
  ASSERT_EQ(plan.traffic->streams[0].phases.size(), 2U);
  EXPECT_THAT(plan.traffic->streams[0].phases[0].flows, ElementsAre(TrafficFlow{0, 1, 256, 2, 0}));
  EXPECT_THAT(plan.traffic->streams[0].phases[1].flows, ElementsAre(TrafficFlow{0, 1, 128, 1, 0}));
  // A turn for each tensor and one between the patterns.
  EXPECT_EQ(plan.traffic->streams[0].phases[0].host_synchronizations, 3);
  EXPECT_EQ(plan.traffic->streams[0].phases[1].host_synchronizations, 2);
}

TEST(DirectPlannerTest, StagesTakeTheirTurnsAtATime) {
  // Three layers on stage 0, one on stage 1: three turns and the one between patterns.
  JobRecordsBuilder builder;
  std::vector<TestBox> all;
  for (int layer = 0; layer < 4; ++layer) {
    const std::string name = "layers." + std::to_string(layer) + ".a";
    builder.AddTensor(name, DType::kF32, {8, 4});
    all.push_back(Rows(name, 0, 8, 4));
  }
  builder.AddSource({all.begin(), all.begin() + 3});
  builder.AddSource({all.back()});
  builder.AddDestination(all);
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Plan plan =
      MakeBaselinePlan("direct", builder.On(cluster), cluster,
                       R"({"source": {"gpus": "0-1", "layout": {"megatron": {"pipeline": 2}}}})");
  ASSERT_EQ(plan.traffic->streams[0].phases.size(), 1U);
  EXPECT_EQ(plan.traffic->streams[0].phases[0].host_synchronizations, 4);
}

TEST(DirectPlannerTest, ARankThatServesItselfCopies) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  builder.AddBoth({Rows("w", 0, 8, 4)}, {Rows("w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 1, 400, 50);
  const Plan plan = MakeBaselinePlan("direct", builder.On(cluster), cluster);
  EXPECT_TRUE(BytesByEnds(plan).empty());
  EXPECT_THAT(plan.traffic->streams[0].phases[0].copies, ElementsAre(TrafficCopy{0, 0, 128}));
}

}  // namespace
}  // namespace reshard
