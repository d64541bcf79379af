#include "compiler/baselines/awex_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(AwexPlannerTest, OneTrainerServesAnEngineOfTwo) {
  // Known output: TP1 DP8 -> one engine of TP2, one trainer sends all. Two tensors, so that a
  // counter that ran on would show.
  JobRecordsBuilder builder;
  builder.AddTensor("a", DType::kF32, {8, 4});
  builder.AddTensor("b", DType::kF32, {8, 4});
  for (int i = 0; i < 8; ++i) builder.AddSource({Rows("a", 0, 8, 4), Rows("b", 0, 8, 4)});
  for (int i = 0; i < 2; ++i) {
    builder.AddDestination({ChunkedRows("a", 8, 4, 2, i)[0], ChunkedRows("b", 8, 4, 2, i)[0]});
  }
  const Cluster cluster = UniformCluster(1, 10, 400, 50);
  EXPECT_THAT(BytesByEnds(MakeBaselinePlan("awex", builder.On(cluster), cluster)),
              ElementsAre(Pair(Ends(0, 8), 128), Pair(Ends(0, 9), 128)));
}

TEST(AwexPlannerTest, FiveAndThreeRowsBecomeThreeAndFiveInThreeTransfers) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  builder.AddSource({Rows("w", 0, 5, 4)});
  builder.AddSource({Rows("w", 5, 8, 4)});
  builder.AddDestination({Rows("w", 0, 3, 4)});
  builder.AddDestination({Rows("w", 3, 8, 4)});
  const Cluster cluster = UniformCluster(1, 4, 400, 50);
  const Plan plan = MakeBaselinePlan("awex", builder.On(cluster), cluster);
  EXPECT_EQ(Operations(plan), 3);
  EXPECT_THAT(BytesByEnds(plan),
              ElementsAre(Pair(Ends(0, 2), 48), Pair(Ends(0, 3), 32), Pair(Ends(1, 3), 48)));
}

TEST(AwexPlannerTest, DestinationReplicasGoRoundTheSourceReplicas) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  for (int i = 0; i < 2; ++i) builder.AddSource({Rows("w", 0, 8, 4)});
  for (int i = 0; i < 3; ++i) builder.AddDestination({Rows("w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 5, 400, 50);
  const Plan plan = MakeBaselinePlan("awex", builder.On(cluster), cluster);
  EXPECT_THAT(BytesByEnds(plan),
              ElementsAre(Pair(Ends(0, 2), 128), Pair(Ends(0, 4), 128), Pair(Ends(1, 3), 128)));
  ASSERT_EQ(plan.traffic->streams.size(), 1U);
  EXPECT_EQ(plan.traffic->streams[0].phases.size(), 1U);
}

}  // namespace
}  // namespace reshard
