#include "compiler/baselines/packed_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(PackedPlannerTest, GathersOnAllSourcesAndBroadcastsFromTheFirst) {
  JobRecordsBuilder builder;
  builder.AddTensor("mlp.up_proj.weight", DType::kF32, {8, 4});
  builder.AddTensor("norm", DType::kF32, {8, 4});
  for (int i = 0; i < 2; ++i) {
    std::vector<TestBox> boxes = ChunkedRows("mlp.up_proj.weight", 8, 4, 2, i);
    boxes.push_back(Rows("norm", 0, 8, 4));
    builder.AddSource(boxes);
  }
  builder.AddDestination({Rows("mlp.up_proj.weight", 0, 8, 4), Rows("norm", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Plan plan = MakeBaselinePlan("packed", builder.On(cluster), cluster);
  ASSERT_THAT(plan.traffic->streams, SizeIs(2));
  EXPECT_THAT(plan.traffic->omissions, IsEmpty());
  const std::map<Ends, std::int64_t> bytes = BytesByEnds(plan);
  // Rank 1 gets its other half in the gather, and all in the broadcast.
  EXPECT_EQ(bytes.at({1, 0}), 64);
  std::int64_t arrived = 0;
  for (const auto& [ends, amount] : bytes) {
    if (ends.second == 2) arrived += amount;
  }
  EXPECT_EQ(arrived, 256);
}

}  // namespace
}  // namespace reshard
