#include "compiler/baselines/packed_broadcast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(PackedBroadcastTest, AChainThroughAllRanksOfBothSides) {
  // The root 0, then the other source 1, which shares its domain, then the engine.
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  for (int i = 0; i < 2; ++i) builder.AddSource({Rows("w", 0, 8, 4)});
  builder.AddDestination({Rows("w", 0, 4, 4)});
  const Cluster cluster = UniformCluster(3, 1, 400, 50);
  const Plan plan = MakeUnplanned(builder.On(cluster)).value();
  WrittenSide source;
  source.places.resize(3);
  PackedBroadcast broadcast(plan, source);
  for (const StackedTensors& stack : StackExperts(plan.job, PlaceTensors(plan.job))) {
    broadcast.Add(stack);
  }
  std::vector<TrafficStream> streams;
  StagingMeter staging(3);
  broadcast.AppendTo(streams, staging);
  ASSERT_THAT(streams, SizeIs(1));
  ASSERT_THAT(streams[0].phases, SizeIs(1));
  EXPECT_THAT(streams[0].phases[0].flows,
              ElementsAre(TrafficFlow{0, 1, 128, 1, 0}, TrafficFlow{1, 2, 128, 1, 1}));
  EXPECT_THAT(streams[0].phases[0].copies, ElementsAre(TrafficCopy{2, 0, 64}));
  EXPECT_THAT(staging.peaks(), ElementsAre(128, 128, 128));
}

TEST(PackedBroadcastTest, NothingToMoveIsNoStream) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  builder.AddSource({Rows("w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 1, 400, 50);
  const Plan plan = MakeUnplanned(builder.On(cluster)).value();
  WrittenSide source;
  source.places.resize(1);
  const PackedBroadcast broadcast(plan, source);
  std::vector<TrafficStream> streams;
  StagingMeter staging(1);
  broadcast.AppendTo(streams, staging);
  EXPECT_THAT(streams, IsEmpty());
}

}  // namespace
}  // namespace reshard
