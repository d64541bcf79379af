// Closed forms: what a plan must take, computed by hand.
#include "simulator/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "sample_plan.h"
#include "simulator/simulate.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMB = 1'000'000;

double SecondsOf(const SamplePlan& sample, const Cluster& cluster,
                 const Constants& constants = FreeConstants()) {
  const Result<SimulationResult> result = Simulate(sample.plan, cluster, constants);
  if (!result) ADD_FAILURE() << ToString(result.error());
  return result ? result->seconds : -1;
}

// What the nanosecond clock may add: one for each event of a chain.
constexpr double kTick = 1.1e-9;

// 64 MB over NICs of 50 GB/s: 1.28 ms.
TEST(ReplayTest, OneTransferBetweenDomains) {
  const Cluster cluster = SampleCluster(2, 1);
  EXPECT_NEAR(SecondsOf(SamplePlan(cluster).Send(0, 1, 64 * kMB), cluster), 1.28e-3, kTick);
}

// 64 MB over NVLink of 400 GB/s: 160 us, whatever the NICs.
TEST(ReplayTest, OneTransferInsideADomain) {
  Cluster cluster = SampleCluster(1, 2);
  for (Nic& nic : cluster.nics) nic.gbps = 0;
  EXPECT_NEAR(SecondsOf(SamplePlan(cluster).Send(0, 1, 64 * kMB), cluster), 160e-6, kTick);
}

// n senders to one receiver: its NIC takes n * B / 50.
TEST(ReplayTest, Incast) {
  const Cluster cluster = SampleCluster(6, 1);
  SamplePlan sample(cluster);
  for (RankIndex from = 1; from < 6; ++from) sample.Send(from, 0, 64 * kMB);
  EXPECT_NEAR(SecondsOf(sample, cluster), 5 * 1.28e-3, kTick);
}

// One sender to n receivers: its NIC takes n * B / 50.
TEST(ReplayTest, Star) {
  const Cluster cluster = SampleCluster(6, 1);
  SamplePlan sample(cluster);
  for (RankIndex to = 1; to < 6; ++to) sample.Send(0, to, 64 * kMB);
  EXPECT_NEAR(SecondsOf(sample, cluster), 5 * 1.28e-3, kTick);
}

// Two into 0 and one of these senders to another receiver too: 1 -> 0 and 1 -> 3 share NIC 1 out,
// and 1 -> 0 and 2 -> 0 NIC 0 in: 25 GB/s each. All 50 MB end at 2 ms; 2 -> 0's 100 MB has 50 MB
// left, at 50 GB/s: 3 ms.
TEST(ReplayTest, MaxMinSharing) {
  const Cluster cluster = SampleCluster(4, 1);
  SamplePlan sample(cluster);
  sample.Send(1, 0, 50 * kMB).Send(1, 3, 50 * kMB).Send(2, 0, 100 * kMB);
  EXPECT_NEAR(SecondsOf(sample, cluster), 3e-3, 2 * kTick);
}

// A chain of L = 4 hops in M = 8 chunks, one hop a round later than the one before: M + L - 1
// rounds of (B / M) / 50, with B = 64 MB: 11 * 0.16 ms.
TEST(ReplayTest, ChainOfHops) {
  const Cluster cluster = SampleCluster(5, 1);
  SamplePlan sample(cluster);
  for (RankIndex hop = 0; hop < 4; ++hop) sample.Send(hop, hop + 1, 64 * kMB, hop, 8);
  EXPECT_NEAR(SecondsOf(sample, cluster), 11 * 0.16e-3, 11 * kTick);
}

// The same chain with costs: each of the 11 rounds adds launch 1.5, group 8.4 and hop 14 us.
TEST(ReplayTest, ChainOfHopsWithLatencies) {
  Cluster cluster = SampleCluster(5, 1);
  for (Domain& domain : cluster.domains) domain.network_latency_us = 14;
  SamplePlan sample(cluster);
  for (RankIndex hop = 0; hop < 4; ++hop) sample.Send(hop, hop + 1, 64 * kMB, hop, 8);
  Constants constants = FreeConstants();
  constants.kernel_launch_us = 1.5;
  constants.group_us = 8.4;
  EXPECT_NEAR(SecondsOf(sample, cluster, constants), 11 * (0.16e-3 + 23.9e-6), 11 * kTick);
}

// Two-level tree: source s deals a class of B out over n = 4 needer domains, and each passes its
// part to the 3 others one round later. In M chunks: round 0 only s sends; then s sends and every
// needer takes B / (4 M) from s and 3 B / (4 M) from the others, so its NIC takes B / M a round; in
// the last round only relays run: 3/4 of a round.
//   T = (1 + (M - 1) + 3/4) * (B / M) / 50; round 0: s sends B / M in all.
TEST(ReplayTest, TwoLevelTree) {
  const Cluster cluster = SampleCluster(5, 1);
  SamplePlan sample(cluster);
  for (RankIndex needer = 1; needer <= 4; ++needer) {
    sample.Send(0, needer, 16 * kMB, 0, 8);
    for (RankIndex other = 1; other <= 4; ++other) {
      if (other != needer) sample.Send(needer, other, 16 * kMB, 1, 8);
    }
  }
  const double round = 64e6 / 8 / 50e9;
  EXPECT_NEAR(SecondsOf(sample, cluster), (8 + 0.75) * round, 20 * kTick);
}

// One peer reaches its channels * rate = 4 * 6.75 = 27 of 50 GB/s; two peers 25 each.
TEST(ReplayTest, ChannelsCapAPeer) {
  const Cluster cluster = SampleCluster(3, 1);
  Constants constants = FreeConstants();
  constants.network_channel_gbps = 6.75;
  EXPECT_NEAR(SecondsOf(SamplePlan(cluster).Send(0, 1, 54 * kMB), cluster, constants), 2e-3, kTick);
  EXPECT_NEAR(
      SecondsOf(SamplePlan(cluster).Send(0, 1, 50 * kMB).Send(0, 2, 50 * kMB), cluster, constants),
      2e-3, kTick);
}

// 8 channels, 4 a peer, one operation each: 2 together, so that 5 operations take 2 more batches of
// 10 us.
TEST(ReplayTest, OperationsBeyondABatchWait) {
  const Cluster cluster = SampleCluster(6, 1);
  Constants constants = FreeConstants();
  constants.channels = 8;
  constants.operations_per_channel = 1;
  constants.batch_us = 10;
  SamplePlan sample(cluster);
  for (RankIndex to = 1; to < 6; ++to) sample.Send(0, to, 64 * kMB);
  EXPECT_NEAR(SecondsOf(sample, cluster, constants), 5 * 1.28e-3 + 20e-6, kTick);
}

// A rank with network peers starts no group before the host node of the graph has run: 10 us, once.
// Rank 0's first round is inside its domain and waits all the same; ranks 2 and 3 of a domain of
// their own never do.
TEST(ReplayTest, TheHostNodeIsPaidOnce) {
  const Cluster cluster = SampleCluster(2, 2);
  Constants constants = FreeConstants();
  constants.host_node_us = 10;
  SamplePlan sample(cluster);
  sample.Send(0, 1, 4 * kMB, 0).Send(0, 2, 50 * kMB, 1, 4);
  EXPECT_NEAR(SecondsOf(sample, cluster, constants), 10e-6 + 10e-6 + 1e-3, 6 * kTick);
  SamplePlan inside(cluster);
  inside.Send(2, 3, 4 * kMB);
  EXPECT_NEAR(SecondsOf(inside, cluster, constants), 10e-6, kTick);
}

// nicShare halves the NICs and leaves NVLink alone.
TEST(ReplayTest, NicShare) {
  const Cluster cluster = SampleCluster(2, 2);
  SamplePlan network(cluster);
  network.Send(0, 2, 64 * kMB).plan.job.options.nic_share = 0.5;
  EXPECT_NEAR(SecondsOf(network, cluster), 2.56e-3, kTick);
  SamplePlan inside(cluster);
  inside.Send(0, 1, 64 * kMB).plan.job.options.nic_share = 0.5;
  EXPECT_NEAR(SecondsOf(inside, cluster), 160e-6, kTick);
}

// Rank 0 starts round 1 only when its round 0 with slow rank 1 has ended: 2 ms + 1 ms. Rank 3 has
// nothing to do in round 0 and waits for rank 0 alone.
TEST(ReplayTest, ARoundEndsWithItsSlowestOperation) {
  const Cluster cluster = SampleCluster(4, 1);
  SamplePlan sample(cluster);
  sample.Send(0, 1, 50 * kMB).Send(0, 2, 50 * kMB).Send(0, 3, 50 * kMB, 1);
  EXPECT_NEAR(SecondsOf(sample, cluster), 3e-3, 2 * kTick);
}

// A chain of dependencies through rounds: 0 -> 1 in round 0 (1 ms); 2 -> 3 in round 0 (2 ms); 1 ->
// 2 in round 1 starts when both are free, at 2 ms, and takes 1 ms.
TEST(ReplayTest, ATransferStartsWhenBothEndsHaveStarted) {
  const Cluster cluster = SampleCluster(4, 1);
  SamplePlan sample(cluster);
  sample.Send(0, 1, 50 * kMB).Send(2, 3, 100 * kMB).Send(1, 2, 50 * kMB, 1);
  const Result<SimulationResult> result = Simulate(sample.plan, cluster, FreeConstants());
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->seconds, 3e-3, 2 * kTick);
  EXPECT_NEAR(result->ranks[0].exchange_end_seconds, 1e-3, kTick);
  EXPECT_NEAR(result->ranks[3].exchange_end_seconds, 2e-3, kTick);
  ASSERT_EQ(result->round_end_seconds.size(), 2U);
  EXPECT_NEAR(result->round_end_seconds[0], 2e-3, kTick);
  EXPECT_NEAR(result->round_end_seconds[1], 3e-3, 2 * kTick);
}

// Pack, send, unpack in a row: 50 MB are read and written by each copy, 100 MB / 1000 GB/s = 0.1
// ms, and take 1 ms on the wire: 0.1 + 1 + 0.1.
TEST(ReplayTest, PackAndUnpackTakeHbm) {
  const Cluster cluster = SampleCluster(2, 1);
  SamplePlan sample(cluster);
  sample.Send(0, 1, 50 * kMB, 0, 1, true, true);
  sample.WaitFor(0, Lane::kExchange, Lane::kPack, 0).WaitFor(1, Lane::kUnpack, Lane::kExchange, 0);
  EXPECT_NEAR(SecondsOf(sample, cluster), 1.2e-3, 3 * kTick);
  Constants constants = FreeConstants();
  constants.copy_hbm_share = 0.5;
  constants.kernel_launch_us = 1.5;  // three steps in a row
  EXPECT_NEAR(SecondsOf(sample, cluster, constants), 1.4e-3 + 4.5e-6, 3 * kTick);
}

// The lanes overlap: with M = 8 chunks the pack of the first and the unpack of the last stand out.
TEST(ReplayTest, LanesOverlap) {
  const Cluster cluster = SampleCluster(2, 1);
  SamplePlan sample(cluster);
  sample.Send(0, 1, 64 * kMB, 0, 8, true, true);
  sample.WaitFor(0, Lane::kExchange, Lane::kPack, 0).WaitFor(1, Lane::kUnpack, Lane::kExchange, 0);
  EXPECT_NEAR(SecondsOf(sample, cluster), 1.28e-3 + 2 * 16e-6, 20 * kTick);
}

// A pack slot of one instance: pack r waits for exchange r - 1, so nothing overlaps: 8 * (16 + 160
// us).
TEST(ReplayTest, WaitsHoldLanesBack) {
  const Cluster cluster = SampleCluster(2, 1);
  SamplePlan sample(cluster);
  sample.Send(0, 1, 64 * kMB, 0, 8, true);
  sample.WaitFor(0, Lane::kExchange, Lane::kPack, 0).WaitFor(0, Lane::kPack, Lane::kExchange, 1);
  EXPECT_NEAR(SecondsOf(sample, cluster), 8 * 176e-6, 20 * kTick);
}

// Pack and unpack of one GPU share its HBM: two copies of 50 MB at once take 0.2 ms.
TEST(ReplayTest, LanesShareHbm) {
  const Cluster cluster = SampleCluster(2, 1);
  SamplePlan sample(cluster);
  sample.Send(0, 1, 16, 0, 1, false).Move(0, 50 * kMB);
  EXPECT_NEAR(SecondsOf(sample, cluster), 0.1e-3, kTick);
  SamplePlan both(cluster);
  both.Send(0, 1, 50 * kMB, 0, 1, true).Move(0, 50 * kMB);
  const Result<SimulationResult> result = Simulate(both.plan, cluster, FreeConstants());
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->ranks[0].pack_end_seconds, 0.2e-3, kTick);
  EXPECT_NEAR(result->ranks[0].unpack_end_seconds, 0.2e-3, kTick);
}

// A wait on a round without a step is met with the steps before it: unpack of round 3 waits for the
// exchange of round 2, of which there is none; the last before it is round 0's, 1 ms.
TEST(ReplayTest, AWaitOnAnAbsentStepIsOnTheStepsBefore) {
  const Cluster cluster = SampleCluster(2, 1);
  SamplePlan sample(cluster);
  sample.Send(0, 1, 50 * kMB).Send(0, 1, 50 * kMB, 4).Move(1, 50 * kMB, 3);
  sample.WaitFor(1, Lane::kUnpack, Lane::kExchange, 1);
  const Result<SimulationResult> result = Simulate(sample.plan, cluster, FreeConstants());
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->ranks[1].unpack_end_seconds, 1.1e-3, 2 * kTick);
  EXPECT_NEAR(result->seconds, 2e-3, 2 * kTick);
}

TEST(ReplayTest, AnEmptyPlanTakesNoTime) {
  const Cluster cluster = SampleCluster(2, 1);
  EXPECT_EQ(SecondsOf(SamplePlan(cluster), cluster), 0);
}

TEST(ReplayTest, WaitsThatNeverEndAreAnError) {
  const Cluster cluster = SampleCluster(2, 1);
  SamplePlan sample(cluster);
  sample.Send(0, 1, 50 * kMB, 0, 1, true);
  sample.WaitFor(0, Lane::kExchange, Lane::kPack, 0).WaitFor(0, Lane::kPack, Lane::kExchange, 0);
  const Result<SimulationResult> result = Simulate(sample.plan, cluster, FreeConstants());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, Fault::kInput);
  EXPECT_EQ(result.error().place, "plan: rank 0");
  EXPECT_THAT(result.error().reason, HasSubstr("pack step of round 0 never starts"));
}

// 50 MB at 1e-300 GB/s.
TEST(ReplayTest, ARateNearZeroIsAnErrorNotAnOverflow) {
  Cluster cluster = SampleCluster(2, 1);
  cluster.nics[1].gbps = 1e-300;
  const Result<SimulationResult> result =
      Simulate(SamplePlan(cluster).Send(0, 1, 50 * kMB).plan, cluster, FreeConstants());
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().reason, HasSubstr("36 years"));
}

// Doubling all bytes and rates changes nothing; doubling bytes alone doubles the time.
TEST(ReplayTest, Scales) {
  const Cluster cluster = SampleCluster(4, 2);
  Cluster fast = cluster;
  for (Gpu& gpu : fast.gpus) gpu.nvlink_gbps *= 2;
  for (Nic& nic : fast.nics) nic.gbps *= 2;
  const auto plan = [&](std::int64_t unit) {
    SamplePlan sample(cluster);
    for (RankIndex from = 0; from < 8; ++from) {
      for (RankIndex to = 0; to < 8; ++to) {
        if (from != to)
          sample.Send(from, to, unit * (1 + (from * 5 + to * 3) % 7), (from + to) % 3);
      }
    }
    return sample;
  };
  const double time = SecondsOf(plan(16 * 4096), cluster);
  EXPECT_EQ(SecondsOf(plan(32 * 4096), fast), time);
  EXPECT_NEAR(SecondsOf(plan(32 * 4096), cluster), 2 * time, 200e-9);
}

}  // namespace
}  // namespace reshard
