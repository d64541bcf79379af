#include "simulator/replay_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;

Result<ReplayModel> ModelOf(const Plan& plan, const Cluster& cluster, const Constants& constants) {
  Result<Workload> work = MakeWorkload(plan);
  if (!work) return tl::unexpected(work.error());
  return MakeReplayModel(plan, cluster, Machine(cluster, constants, 1, 4), constants,
                         *std::move(work));
}

// Rank 1 sends in rounds 0 to 3 and receives in rounds 2 and 3: one operation, then two; none from
// 4 on.
TEST(ReplayModelTest, ExchangeSegmentsCountOperations) {
  const Cluster cluster = SampleCluster(3, 1);
  SamplePlan sample(cluster);
  sample.Send(1, 2, 1 << 20, 0, 4).Send(0, 1, 1 << 20, 2, 2);
  const Result<ReplayModel> model = ModelOf(sample.plan, cluster, FreeConstants());
  ASSERT_TRUE(model);
  const std::span<const Segment> lane =
      model->Of(model->ranks[1].lanes[static_cast<int>(Lane::kExchange)]);
  EXPECT_THAT(std::vector<Segment>(lane.begin(), lane.end()),
              ElementsAre(Segment{0, 1}, Segment{2, 2}, Segment{4, 0}));
  EXPECT_THAT(std::vector<TransferIndex>(model->Operations(model->ranks[1]).begin(),
                                         model->Operations(model->ranks[1]).end()),
              ElementsAre(0, 1));
  EXPECT_EQ(model->round_count, 4);
}

// A segment begins where the bytes of any operation change, even if their number stays: here one
// transfer ends where the other begins.
TEST(ReplayModelTest, ExchangeSegmentsBeginWhereAnyBytesChange) {
  const Cluster cluster = SampleCluster(3, 1);
  SamplePlan sample(cluster);
  sample.Send(0, 1, 1 << 20, 0, 2).Send(0, 2, 1 << 20, 2, 2);
  const Result<ReplayModel> model = ModelOf(sample.plan, cluster, FreeConstants());
  ASSERT_TRUE(model);
  const std::span<const Segment> lane =
      model->Of(model->ranks[0].lanes[static_cast<int>(Lane::kExchange)]);
  EXPECT_THAT(std::vector<Segment>(lane.begin(), lane.end()),
              ElementsAre(Segment{0, 1}, Segment{2, 1}, Segment{4, 0}));
}

// Latencies and costs become whole nanoseconds; copies use the rank's HBM twice.
TEST(ReplayModelTest, CostsAndFlows) {
  Cluster cluster = SampleCluster(2, 1);
  cluster.domains[1].network_latency_us = 14;
  SamplePlan sample(cluster);
  sample.Send(0, 1, 1 << 20, 0, 1, true, true);
  const Result<ReplayModel> model = ModelOf(sample.plan, cluster, *DefaultConstants());
  ASSERT_TRUE(model);
  EXPECT_EQ(model->launch, 1500);
  EXPECT_EQ(model->group, 8400);
  EXPECT_EQ(model->transfers[0].latency, 14000);
  const std::span<const ResourceShare> copy =
      model->flows.Shares(model->CopyFlow(1, Lane::kUnpack));
  ASSERT_EQ(copy.size(), 1U);
  EXPECT_EQ(copy[0].share, 2);
  EXPECT_DOUBLE_EQ(model->capacities[static_cast<std::size_t>(copy[0].resource)], 870);
  EXPECT_EQ(model->flows.size(), 1U + 2 * 2);
}

// A transfer that never carries a byte needs no way.
TEST(ReplayModelTest, AnEmptyTransferNeedsNoWay) {
  Cluster cluster = SampleCluster(2, 1);
  cluster.nics[0].gbps = 0;
  SamplePlan sample(cluster);
  sample.Send(0, 1, 0);
  EXPECT_TRUE(ModelOf(sample.plan, cluster, FreeConstants()));
}

}  // namespace
}  // namespace reshard
