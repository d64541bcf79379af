#include "compiler/baselines/broadcast_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;

TEST(BroadcastPlannerTest, GathersToTheRootThenBroadcastsWhole) {
  // Two parts of 64 bytes: the ring carries each to the other, the chain the whole to each engine
  // rank although it needs half of it.
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  for (int i = 0; i < 2; ++i) builder.AddSource(ChunkedRows("w", 8, 4, 2, i));
  for (int i = 0; i < 2; ++i) builder.AddDestination(ChunkedRows("w", 8, 4, 2, i));
  const Cluster cluster = UniformCluster(1, 4, 400, 50);
  const Plan plan = MakeBaselinePlan("broadcast", builder.On(cluster), cluster);
  // One bucket: gathered, then broadcast.
  ASSERT_EQ(plan.traffic->streams.size(), 2U);
  EXPECT_EQ(plan.traffic->streams[0].turn, 0);
  EXPECT_EQ(plan.traffic->streams[1].turn, 1);
  const std::vector<TrafficPhase>& gather = plan.traffic->streams[0].phases;
  ASSERT_EQ(gather.size(), 2U);
  EXPECT_EQ(gather[0].host_synchronizations, 1);  // one tensor, one collective
  EXPECT_EQ(gather[0].launches, 1);
  EXPECT_TRUE(gather[0].flows.empty());
  EXPECT_THAT(gather[1].flows,
              ElementsAre(TrafficFlow{0, 1, 64, 1, 0}, TrafficFlow{1, 0, 64, 1, 0}));
  EXPECT_EQ(gather[1].launches, 0);
  ASSERT_EQ(plan.traffic->streams[1].phases.size(), 1U);
  const TrafficPhase& broadcast = plan.traffic->streams[1].phases[0];
  // Two rings of half the bytes, 0 2 3 and 0 3 2: sources that share the domain with an engine are
  // no way out.
  EXPECT_THAT(broadcast.flows,
              ElementsAre(TrafficFlow{0, 2, 64, 1, 0}, TrafficFlow{0, 3, 64, 1, 0},
                          TrafficFlow{2, 3, 64, 1, 1}, TrafficFlow{3, 2, 64, 1, 1}));
  EXPECT_THAT(broadcast.copies, ElementsAre(TrafficCopy{2, 0, 64}, TrafficCopy{3, 0, 64}));
  EXPECT_EQ(broadcast.host_synchronizations, 1);
  // Both are collectives, which no peer's channels hold back.
  EXPECT_FALSE(gather[1].is_send_receive);
  EXPECT_FALSE(broadcast.is_send_receive);
}

TEST(BroadcastPlannerTest, RingsLeaveTheRootsDomainByAllItsNics) {
  // Three rings of 96 / 3 bytes: by the root 0 itself, by 1 and by 2; each enters the engines'
  // domain at another of them.
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {6, 4});
  for (int i = 0; i < 3; ++i) builder.AddSource({Rows("w", 0, 6, 4)});
  for (int i = 0; i < 3; ++i) builder.AddDestination({Rows("w", 0, 6, 4)});
  const Cluster cluster = UniformCluster(2, 3, 400, 50);
  const Plan plan = MakeBaselinePlan("broadcast", builder.On(cluster), cluster);
  ASSERT_EQ(plan.traffic->streams[0].phases.size(), 1U);
  EXPECT_THAT(plan.traffic->streams[0].phases[0].flows,
              ElementsAre(TrafficFlow{0, 1, 32, 1, 0}, TrafficFlow{0, 2, 32, 1, 0},
                          TrafficFlow{0, 3, 32, 1, 0}, TrafficFlow{1, 4, 32, 1, 1},
                          TrafficFlow{2, 5, 32, 1, 1},
                          // 3 4 5, 4 5 3, 5 3 4: every neighbour in two of the three rings.
                          TrafficFlow{3, 4, 64, 1, 1}, TrafficFlow{4, 5, 64, 1, 2},
                          TrafficFlow{5, 3, 64, 1, 3}));
}

TEST(BroadcastPlannerTest, ExpertsOfDifferentRanksShareACollective) {
  // Two experts on each of two ranks: two collectives, of one expert of each rank.
  JobRecordsBuilder builder;
  std::vector<std::vector<TestBox>> held(2);
  std::vector<TestBox> needed;
  for (int expert = 0; expert < 4; ++expert) {
    const std::string name = "a.experts." + std::to_string(expert) + ".w";
    builder.AddTensor(name, DType::kF32, {8, 4});
    held[static_cast<std::size_t>(expert / 2)].push_back(Rows(name, 0, 8, 4));
    needed.push_back(Rows(name, 0, 8, 4));
  }
  for (const auto& boxes : held) builder.AddSource(boxes);
  builder.AddDestination(needed);
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Plan plan = MakeBaselinePlan("broadcast", builder.On(cluster), cluster);
  ASSERT_EQ(plan.traffic->streams[0].phases.size(), 2U);
  EXPECT_EQ(plan.traffic->streams[0].phases[0].host_synchronizations, 2);
  EXPECT_EQ(plan.traffic->streams[0].phases[0].launches, 2);
}

TEST(BroadcastPlannerTest, ARootThatHoldsAllGathersNothing) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  for (int i = 0; i < 2; ++i) builder.AddSource({Rows("w", 0, 8, 4)});
  builder.AddDestination({Rows("w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Plan plan = MakeBaselinePlan("broadcast", builder.On(cluster), cluster);
  ASSERT_EQ(plan.traffic->streams[0].phases.size(), 1U);
  EXPECT_THAT(plan.traffic->streams[0].phases[0].flows, ElementsAre(TrafficFlow{0, 2, 128, 1, 0}));
}

TEST(BroadcastPlannerTest, StagesFollowEachOtherEachWithItsRoot) {
  JobRecordsBuilder builder;
  builder.AddTensor("layers.0.w", DType::kF32, {8, 4});
  builder.AddTensor("layers.1.w", DType::kF32, {8, 4});
  builder.AddSource({Rows("layers.0.w", 0, 8, 4)});
  builder.AddSource({Rows("layers.1.w", 0, 8, 4)});
  builder.AddDestination({Rows("layers.0.w", 0, 8, 4), Rows("layers.1.w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Plan plan =
      MakeBaselinePlan("broadcast", builder.On(cluster), cluster,
                       R"({"source": {"gpus": "0-1", "layout": {"megatron": {"pipeline": 2}}}})");
  const std::vector<TrafficPhase>& phases = plan.traffic->streams[0].phases;
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_THAT(phases[0].flows, ElementsAre(TrafficFlow{0, 2, 128, 1, 0}));
  EXPECT_THAT(phases[1].flows, ElementsAre(TrafficFlow{1, 2, 128, 1, 0}));
}

// Three buckets behind each other, through two buffers.
TEST(BroadcastPlannerTest, BucketsAreOfAGibibyteAtMost) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {5, std::int64_t{1} << 27});  // 2.5 GiB: three buckets
  builder.AddSource({Rows("w", 0, 5, std::int64_t{1} << 27)});
  builder.AddDestination({Rows("w", 0, 5, std::int64_t{1} << 27)});
  const Cluster cluster = UniformCluster(1, 2, 400, 50);
  const Plan plan = MakeBaselinePlan("broadcast", builder.On(cluster), cluster);
  const TrafficPhase& phase = plan.traffic->streams[0].phases.at(0);
  EXPECT_EQ(phase.launches, 3);
  EXPECT_EQ(phase.flows[0].bytes, ((std::int64_t{5} << 29) + 2) / 3 * 3);
  EXPECT_THAT(plan.traffic->staging_bytes,
              ElementsAre(std::int64_t{1} << 31, std::int64_t{1} << 31));
}

}  // namespace
}  // namespace reshard
