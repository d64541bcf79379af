// What holds for every plan: random ones, each instant of their replay looked at.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "sample_plan.h"
#include "simulator/preparation.h"
#include "simulator/replay.h"

namespace reshard {
namespace {

struct Stretch {
  FlowIndex flow = 0;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  double gbps = 0;
};

class Recorder final : public ReplayObserver {
 public:
  void OnFlow(FlowIndex flow, Nanoseconds begin, Nanoseconds end, double gbps) override {
    stretches.push_back({flow, begin, end, gbps});
  }
  void OnStep(RankIndex, Lane, RoundIndex, Nanoseconds, Nanoseconds) override {}
  void OnTransfer(TransferIndex, RoundIndex, std::int64_t, Nanoseconds, Nanoseconds) override {
    ++transfers;
  }

  std::vector<Stretch> stretches;
  std::int64_t transfers = 0;
};

// Sends in any round between any ranks of 4 domains of 3 GPUs, packed, unpacked and moved; over a
// fabric whose rails meet for nothing, or in a spine.
class RandomReplay : public testing::TestWithParam<std::uint64_t> {
 protected:
  RandomReplay() : cluster_(SampleCluster(4, 3)), sample_(cluster_) {
    std::mt19937_64 random(GetParam());
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    if (below(2) == 0) {
      cluster_.fabric.rail_crossing = RailCrossing::kSpine;
      cluster_.fabric.spine_oversubscription = 4;
    }
    for (Nic& nic : cluster_.nics) nic.gbps = static_cast<double>(10 + below(50));
    for (int i = 0; i < 60; ++i) {
      const auto from = static_cast<RankIndex>(below(12));
      const auto to = static_cast<RankIndex>((from + 1 + below(11)) % 12);
      const int chunks = 1 << below(3);
      sample_.Send(from, to, 16 * chunks * (1 + below(200'000)), static_cast<RoundIndex>(below(6)),
                   chunks, below(2) == 0, below(2) == 0);
    }
    for (RankIndex rank = 0; rank < 12; ++rank) {
      sample_.Move(rank, 16 * (1 + below(200'000)), static_cast<RoundIndex>(below(6)));
      sample_.WaitFor(rank, Lane::kExchange, Lane::kPack, 0)
          .WaitFor(rank, Lane::kUnpack, Lane::kExchange, 0);
    }
  }

  PreparedReplay Prepare(const Constants& constants) const {
    Result<PreparedReplay> prepared = PrepareReplay(sample_.plan, cluster_, constants);
    EXPECT_TRUE(prepared) << ToString(prepared.error());
    return std::move(*prepared);
  }

  Cluster cluster_;
  SamplePlan sample_;
};

TEST_P(RandomReplay, BytesAreConserved) {
  const PreparedReplay prepared = Prepare(FreeConstants());
  Recorder recorder;
  ASSERT_TRUE(RunReplay(prepared.model, ReplayWay::kLong, &recorder));
  std::vector<double> flowed(prepared.model.flows.size());
  std::vector<double> ticks(prepared.model.flows.size());  // a nanosecond more for each stretch
  for (const Stretch& stretch : recorder.stretches) {
    const auto flow = static_cast<std::size_t>(stretch.flow);
    flowed[flow] += stretch.gbps * static_cast<double>(stretch.end - stretch.begin);
    ticks[flow] += stretch.gbps;
  }
  for (std::size_t t = 0; t < prepared.model.transfers.size(); ++t) {
    const Result<std::int64_t> bytes =
        TotalBytes(prepared.model.Of(prepared.model.transfers[t].bytes));
    EXPECT_GE(flowed[t], static_cast<double>(*bytes) - 1e-3 * ticks[t] - 1e-6) << "transfer " << t;
    EXPECT_LE(flowed[t], static_cast<double>(*bytes) + ticks[t]) << "transfer " << t;
  }
}

// At every instant at which a rate begins, what runs then fits every resource.
TEST_P(RandomReplay, NoResourceCarriesMoreThanItCan) {
  const PreparedReplay prepared = Prepare(DefaultConstants().value());
  Recorder recorder;
  ASSERT_TRUE(RunReplay(prepared.model, ReplayWay::kLong, &recorder));
  std::map<Nanoseconds, std::vector<std::pair<const Stretch*, bool>>> changes;
  for (const Stretch& stretch : recorder.stretches) {
    changes[stretch.begin].emplace_back(&stretch, true);
    changes[stretch.end].emplace_back(&stretch, false);
  }
  std::vector<double> used(prepared.model.capacities.size());
  for (const auto& [instant, all] : changes) {
    for (const auto& [stretch, begins] : all) {
      for (const ResourceShare& use : prepared.model.flows.Shares(stretch->flow)) {
        used[static_cast<std::size_t>(use.resource)] +=
            (begins ? 1 : -1) * use.share * stretch->gbps;
      }
    }
    for (std::size_t r = 0; r < used.size(); ++r) {
      ASSERT_LE(used[r], prepared.model.capacities[r] * (1 + 1e-9) + 1e-9)
          << "resource " << r << " at " << instant << " ns";
    }
  }
}

// No resource passes its bytes faster than its rate, so the busiest one bounds the time.
TEST_P(RandomReplay, TheTimeIsAboveTheBound) {
  for (const Constants& constants : {FreeConstants(), DefaultConstants().value()}) {
    const PreparedReplay prepared = Prepare(constants);
    const Result<ReplayOutcome> outcome = RunReplay(prepared.model);
    ASSERT_TRUE(outcome);
    std::vector<double> bytes(prepared.model.capacities.size());
    for (std::size_t t = 0; t < prepared.model.transfers.size(); ++t) {
      const Result<std::int64_t> total =
          TotalBytes(prepared.model.Of(prepared.model.transfers[t].bytes));
      for (const ResourceShare& use : prepared.model.flows.Shares(static_cast<FlowIndex>(t))) {
        bytes[static_cast<std::size_t>(use.resource)] += use.share * static_cast<double>(*total);
      }
    }
    double bound_ns = 0;
    for (std::size_t r = 0; r < bytes.size(); ++r) {
      if (bytes[r] > 0) bound_ns = std::max(bound_ns, bytes[r] / prepared.model.capacities[r]);
    }
    EXPECT_GT(bound_ns, 0);
    EXPECT_GE(static_cast<double>(outcome->times.end), bound_ns * (1 - 1e-9));
  }
}

// The order in which a plan's records stand decides nothing but the order of sums.
TEST_P(RandomReplay, TheOrderOfTransfersDoesNotCount) {
  const PreparedReplay prepared = Prepare(DefaultConstants().value());
  const Result<ReplayOutcome> outcome = RunReplay(prepared.model);
  std::mt19937_64 random(GetParam() + 1000);
  std::shuffle(sample_.plan.transfers.begin(), sample_.plan.transfers.end(), random);
  const PreparedReplay shuffled = Prepare(DefaultConstants().value());
  const Result<ReplayOutcome> again = RunReplay(shuffled.model);
  ASSERT_TRUE(outcome && again);
  EXPECT_NEAR(static_cast<double>(again->times.end), static_cast<double>(outcome->times.end), 50);
  for (std::size_t i = 0; i < outcome->times.lane_ends.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(again->times.lane_ends[i]),
                static_cast<double>(outcome->times.lane_ends[i]), 50);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomReplay, testing::Range<std::uint64_t>(1, 25));

// A flow that stands for n equal ones ends when they end: n sends of B share what one of n B takes.
TEST(MergedFlows, EndWithTheSingleOnes) {
  const Cluster cluster = SampleCluster(4, 1);
  for (const int parts : {2, 3, 5}) {
    SamplePlan merged(cluster);
    SamplePlan single(cluster);
    constexpr std::int64_t kBytes = 16 * 1'000'000;
    merged.Send(0, 1, parts * kBytes);
    for (int i = 0; i < parts; ++i) single.Send(0, 1, kBytes);
    const Result<PreparedReplay> a = PrepareReplay(merged.plan, cluster, FreeConstants());
    const Result<PreparedReplay> b = PrepareReplay(single.plan, cluster, FreeConstants());
    ASSERT_TRUE(a && b);
    EXPECT_NEAR(static_cast<double>(RunReplay(a->model)->times.end),
                static_cast<double>(RunReplay(b->model)->times.end), 2);
  }
}

}  // namespace
}  // namespace reshard
