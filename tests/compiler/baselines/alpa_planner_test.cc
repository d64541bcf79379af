#include "compiler/baselines/alpa_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(AlpaPlannerTest, AWorkIsAChainOverItsReceivers) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  builder.AddSource({Rows("w", 0, 8, 4)});
  for (int i = 0; i < 2; ++i) builder.AddDestination({Rows("w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Plan plan = MakeBaselinePlan("alpa", builder.On(cluster), cluster);
  const std::vector<TrafficPhase>& phases = plan.traffic->streams[0].phases;
  ASSERT_THAT(phases, SizeIs(1));
  EXPECT_THAT(phases[0].flows,
              ElementsAre(TrafficFlow{0, 1, 128, 1, 0}, TrafficFlow{1, 2, 128, 1, 1}));
  EXPECT_THAT(phases[0].copies,
              ElementsAre(TrafficCopy{0, 128, 0}, TrafficCopy{1, 0, 128}, TrafficCopy{2, 0, 128}));
}

// Two trainers with half a tensor each, two engine ranks with one half each.
Plan PlanHalves(const Cluster& cluster) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  for (int i = 0; i < 2; ++i) builder.AddSource(ChunkedRows("w", 8, 4, 2, i));
  for (int i = 0; i < 2; ++i) builder.AddDestination(ChunkedRows("w", 8, 4, 2, i));
  return MakeBaselinePlan("alpa", builder.On(cluster), cluster);
}

TEST(AlpaPlannerTest, WorksOfDifferentWorkersShareARound) {
  EXPECT_THAT(PlanHalves(UniformCluster(1, 4, 400, 50)).traffic->streams[0].phases, SizeIs(1));
}

TEST(AlpaPlannerTest, GpusBehindOneNicAreOneWorker) {
  const TestDomain domain{4, 400, {{{0, 1}, 50, 0}, {{2}, 50, 1}, {{3}, 50, 2}}};
  const Cluster cluster = MakeTestCluster({&domain, 1});
  EXPECT_THAT(PlanHalves(cluster).traffic->streams[0].phases, SizeIs(2));
}

TEST(AlpaPlannerTest, WhoHoldsWhatItNeedsCopies) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  builder.AddBoth({Rows("w", 0, 8, 4)}, {Rows("w", 0, 8, 4)});
  builder.AddDestination({Rows("w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 2, 400, 50);
  const Plan plan = MakeBaselinePlan("alpa", builder.On(cluster), cluster);
  const std::vector<TrafficPhase>& phases = plan.traffic->streams[0].phases;
  ASSERT_THAT(phases, SizeIs(2));
  EXPECT_THAT(phases[0].copies, ElementsAre(TrafficCopy{0, 0, 128}));
  EXPECT_THAT(phases[1].flows, ElementsAre(TrafficFlow{0, 1, 128, 1, 0}));
}

}  // namespace
}  // namespace reshard
