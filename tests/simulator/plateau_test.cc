// Plateaus and their parts, and that skipping over them does not count.
#include "simulator/plateau.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "sample_plan.h"
#include "simulator/replay.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

Result<ReplayModel> ModelOf(const Plan& plan, const Cluster& cluster, const Constants& constants) {
  Result<Workload> work = MakeWorkload(plan);
  if (!work) return tl::unexpected(work.error());
  const Machine machine(cluster, constants, 1, 4);
  return MakeReplayModel(plan, cluster, machine, constants, *std::move(work));
}

// 0 -> 1 in rounds 0 to 15, 2 -> 3 in rounds 4 to 11: alike are 0-3, 4-11, 12-15. (The last chunk
// of a power of two is as long as the others.)
TEST(PlateauTest, BeginsAndEndsWhereAnyBytesChange) {
  const Cluster cluster = SampleCluster(4, 1);
  SamplePlan sample(cluster);
  sample.Send(0, 1, 1 << 20, 0, 16).Send(2, 3, 1 << 20, 4, 8);
  const Result<ReplayModel> model = ModelOf(sample.plan, cluster, FreeConstants());
  ASSERT_TRUE(model);
  const std::vector<Plateau> plateaus = FindPlateaus(*model, 4);
  ASSERT_THAT(plateaus, SizeIs(3));
  EXPECT_EQ(plateaus[1].begin, 4);
  EXPECT_EQ(plateaus[1].end, 12);
  ASSERT_THAT(plateaus[1].parts, SizeIs(2));
  EXPECT_THAT(plateaus[1].parts[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(plateaus[1].parts[0].flows, ElementsAre(0));
  EXPECT_THAT(plateaus[1].parts[1].ranks, ElementsAre(2, 3));
  EXPECT_THAT(plateaus[1].parts[1].flows, ElementsAre(1));
  // In 0-3 ranks 2 and 3 do nothing, each for itself.
  EXPECT_THAT(plateaus[0].parts, SizeIs(3));
  const std::vector<Plateau> long_ones = FindPlateaus(*model, 5);
  ASSERT_THAT(long_ones, SizeIs(1));
  EXPECT_EQ(long_ones[0].begin, 4);
}

// Over one switch the two pairs can act on each other; a NIC of their own keeps them apart.
TEST(PlateauTest, SharedResourcesJoinParts) {
  Cluster cluster = SampleCluster(4, 1);
  cluster.fabric.switches.push_back({{0, 2}, 1});
  SamplePlan sample(cluster);
  sample.Send(0, 1, 1 << 20, 0, 16).Send(2, 3, 1 << 20, 0, 16);
  const Result<ReplayModel> model = ModelOf(sample.plan, cluster, FreeConstants());
  ASSERT_TRUE(model);
  const std::vector<Plateau> plateaus = FindPlateaus(*model, 4);
  ASSERT_THAT(plateaus, SizeIs(1));
  ASSERT_THAT(plateaus[0].parts, SizeIs(1));
  EXPECT_THAT(plateaus[0].parts[0].ranks, ElementsAre(0, 1, 2, 3));
}

// A refit in small: senders in domain 0, receivers in domains 1 and 2 that pass on to their twin
// and to the others of their domain; sizes differ from column to column if `uneven`.
SamplePlan Refit(const Cluster& cluster, int gpus, int chunks, std::uint64_t seed, bool uneven) {
  std::mt19937_64 random(seed);
  SamplePlan sample(cluster);
  for (RankIndex from = 0; from < gpus; ++from) {
    for (int column = 0; column < 2; ++column) {
      const std::int64_t bytes =
          std::int64_t{chunks} * 16 * (65536 + (uneven ? static_cast<int>(random() % 20000) : 0));
      const auto lane = static_cast<RankIndex>(random() % static_cast<std::uint64_t>(gpus));
      const RankIndex head = gpus * (1 + column) + lane;
      const RankIndex twin = gpus * (2 - column) + lane;
      sample.Send(from, head, bytes, 0, chunks, true, true).Send(head, twin, bytes, 1, chunks);
      for (RankIndex other = 0; other < gpus; ++other) {
        if (other == lane) continue;
        sample.Send(head, gpus * (1 + column) + other, bytes, 1, chunks, false, true);
        sample.Send(twin, gpus * (2 - column) + other, bytes, 2, chunks);
      }
    }
  }
  for (RankIndex rank = 0; rank < 3 * gpus; ++rank) {
    sample.WaitFor(rank, Lane::kExchange, Lane::kPack, 0)
        .WaitFor(rank, Lane::kPack, Lane::kExchange, 2)
        .WaitFor(rank, Lane::kUnpack, Lane::kExchange, 0)
        .WaitFor(rank, Lane::kExchange, Lane::kUnpack, 2);
  }
  return sample;
}

struct Ways {
  ReplayOutcome fast;
  ReplayOutcome full;
};

Ways BothWays(const SamplePlan& sample, const Cluster& cluster) {
  const Result<ReplayModel> model = ModelOf(sample.plan, cluster, *DefaultConstants());
  EXPECT_TRUE(model);
  const Result<ReplayOutcome> fast = RunReplay(*model, ReplayWay::kShort);
  const Result<ReplayOutcome> full = RunReplay(*model, ReplayWay::kLong);
  EXPECT_TRUE(fast && full);
  return {*fast, *full};
}

// One pair and equal chunks repeat exactly, so skipping changes nothing at all.
TEST(SkipExactTest, IsExactWhereTheRepetitionIs) {
  Cluster cluster = SampleCluster(2, 1);
  cluster.domains[0].network_latency_us = 14;
  SamplePlan sample(cluster);
  sample.Send(0, 1, 1 << 30, 0, 256, true, true);
  sample.WaitFor(0, Lane::kExchange, Lane::kPack, 0)
      .WaitFor(0, Lane::kPack, Lane::kExchange, 2)
      .WaitFor(1, Lane::kUnpack, Lane::kExchange, 0);
  const Ways ways = BothWays(sample, cluster);
  EXPECT_EQ(ways.full.skipped_steps, 0);
  EXPECT_GT(ways.fast.skipped_steps, 2 * 230);
  EXPECT_EQ(ways.fast.times.end, ways.full.times.end);
  EXPECT_EQ(ways.fast.times.lane_ends, ways.full.times.lane_ends);
  EXPECT_EQ(ways.fast.times.round_ends, ways.full.times.round_ends);
}

// A step beyond the plateau waits for one of the plateau's last rounds, by `lag`: it must start
// when that one ends, not later by what was skipped. Sends end in round 255; the copy is in round
// 258.
TEST(SkipExactTest, AStepBeyondThePlateauStartsInTime) {
  const Cluster cluster = SampleCluster(2, 1);
  for (const std::int32_t lag : {1, 3, 5, 9}) {
    SamplePlan sample(cluster);
    sample.Send(0, 1, 1 << 30, 0, 256).Move(1, 1 << 20, 258);
    sample.WaitFor(1, Lane::kUnpack, Lane::kExchange, lag);
    const Ways ways = BothWays(sample, cluster);
    // Twice the lag in rounds decide what follows, and repeat before any is skipped.
    EXPECT_GE(ways.fast.skipped_steps, 2 * (256 - 8 - 3 * lag)) << "lag " << lag;
    EXPECT_EQ(ways.fast.times.lane_ends, ways.full.times.lane_ends) << "lag " << lag;
    EXPECT_EQ(ways.fast.times.round_ends, ways.full.times.round_ends) << "lag " << lag;
  }
}

class SkipTest : public ::testing::TestWithParam<std::uint64_t> {};

// Times differ by a hundred thousandth at most: of every lane, and of the end of every round.
TEST_P(SkipTest, TheShortWayEqualsTheLongWay) {
  const std::uint64_t seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Cluster cluster = SampleCluster(3, 4);
  for (Domain& domain : cluster.domains) {
    domain.network_latency_us = 14;
    domain.nvlink_latency_us = 3.4;
  }
  if (seed % 3 == 0) cluster.fabric.rail_crossing = RailCrossing::kSpine;
  const Ways ways = BothWays(Refit(cluster, 4, 128, seed, seed % 2 == 0), cluster);
  EXPECT_EQ(ways.full.skipped_steps, 0);
  EXPECT_GT(ways.fast.skipped_steps, 12 * 40);
  const auto expect_close = [](Nanoseconds a, Nanoseconds b) {
    EXPECT_NEAR(static_cast<double>(a), static_cast<double>(b), 1e-5 * static_cast<double>(b) + 1);
  };
  expect_close(ways.fast.times.end, ways.full.times.end);
  for (std::size_t i = 0; i < ways.full.times.lane_ends.size(); ++i) {
    expect_close(ways.fast.times.lane_ends[i], ways.full.times.lane_ends[i]);
  }
  for (std::size_t i = 0; i < ways.full.times.round_ends.size(); ++i) {
    expect_close(ways.fast.times.round_ends[i], ways.full.times.round_ends[i]);
  }
}

// As very large models are run: ends late by a part of a life or a mean round, and repetitions as
// different. Against the long way without any, times differ by about three times that part.
TEST_P(SkipTest, LateEndsAndSkippingDifferByTheirTolerance) {
  const std::uint64_t seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Cluster cluster = SampleCluster(3, 4);
  for (Domain& domain : cluster.domains) domain.network_latency_us = 14;
  const SamplePlan sample = Refit(cluster, 4, 128, seed, true);
  Result<ReplayModel> model = ModelOf(sample.plan, cluster, *DefaultConstants());
  ASSERT_TRUE(model);
  const Result<ReplayOutcome> exact = RunReplay(*model, ReplayWay::kLong);
  ASSERT_TRUE(exact);
  constexpr double kTolerance = 0x1p-8;
  model->tolerance = kTolerance;
  model->round_time = exact->times.end / model->round_count;
  const Result<ReplayOutcome> coarse = RunReplay(*model, ReplayWay::kShort);
  ASSERT_TRUE(coarse);
  EXPECT_GT(coarse->skipped_steps, 12 * 80);
  const auto end = static_cast<double>(exact->times.end);
  EXPECT_NEAR(static_cast<double>(coarse->times.end), end, 3 * kTolerance * end);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SkipTest, ::testing::Range<std::uint64_t>(1, 25));

}  // namespace
}  // namespace reshard
