#include "simulator/replay_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <vector>

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

// 1 MiB goes out of rank 0 over 50 GB/s and half of it on from rank 1, which copies what it
// receives: HBM carries it twice.
TEST(ReplayModelTest, BytesOfEachResource) {
  const Cluster cluster = SampleCluster(3, 1);
  SamplePlan sample(cluster);
  sample.Send(0, 1, 1 << 20, 0, 1, false, true).Send(1, 2, 1 << 19, 1);
  const Result<ReplayModel> model = ModelOf(sample.plan, cluster, FreeConstants());
  ASSERT_TRUE(model);
  const Result<std::vector<double>> bytes = BytesPerResource(*model);
  ASSERT_TRUE(bytes);
  ASSERT_EQ(bytes->size(), model->capacities.size());
  double of_first = 0;
  for (const ResourceShare& use : model->flows.Shares(0)) {
    of_first += (*bytes)[static_cast<std::size_t>(use.resource)];
  }
  EXPECT_EQ(of_first, 2.0 * (1 << 20));  // one NIC out, one NIC in
  const ResourceShare copy = model->flows.Shares(model->CopyFlow(1, Lane::kUnpack))[0];
  EXPECT_EQ((*bytes)[static_cast<std::size_t>(copy.resource)], 2.0 * (1 << 20));
  EXPECT_EQ(std::accumulate(bytes->begin(), bytes->end(), 0.0), 5.0 * (1 << 20));
}

// Ends are tolerated late in large models only.
TEST(ReplayModelTest, FewTransfersEndOnTime) {
  const Cluster cluster = SampleCluster(2, 1);
  SamplePlan sample(cluster);
  sample.Send(0, 1, 1 << 20);
  const Result<ReplayModel> model = ModelOf(sample.plan, cluster, FreeConstants());
  ASSERT_TRUE(model);
  EXPECT_EQ(model->tolerance, 0);
  EXPECT_EQ(model->round_time, 0);
}

// 2^17 + 1 transfers of 1 MiB out of one NIC of 50 GB/s, each in a round of its own in turn of 64.
TEST(ReplayModelTest, ManyTransfersMayEndLateByAPartOfAMeanRound) {
  const Cluster cluster = SampleCluster(2, 1);
  SamplePlan sample(cluster);
  constexpr int kTransfers = (1 << 17) + 1;
  for (int i = 0; i < kTransfers; ++i) sample.Send(0, 1, 1 << 20, i % 64);
  const Result<ReplayModel> model = ModelOf(sample.plan, cluster, FreeConstants());
  ASSERT_TRUE(model);
  EXPECT_GT(model->tolerance, 0);
  EXPECT_EQ(model->round_time, static_cast<Nanoseconds>(1048576.0 * kTransfers / 50 / 64));
}

}  // namespace
}  // namespace reshard
