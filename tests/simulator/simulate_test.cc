#include "simulator/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "sample_plan.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

const ResourceUse* UseOf(const SimulationResult& result, const std::string& name) {
  for (const ResourceUse& use : result.resources) {
    if (use.name == name) return &use;
  }
  return nullptr;
}

// 50 MB 0 -> 2 over NICs (1 ms), then 40 MB 0 -> 1 over NVLink (0.1 ms), unpacked on 2 (0.1 ms of
// HBM).
TEST(SimulateTest, ReportsWhatEachResourceCarried) {
  const Cluster cluster = SampleCluster(2, 2);
  SamplePlan sample(cluster);
  sample.Send(0, 2, 50'000'000, 0, 1, false, true).Send(0, 1, 40'000'000, 1);
  sample.WaitFor(2, Lane::kUnpack, Lane::kExchange, 0);
  const Result<SimulationResult> result = Simulate(sample.plan, cluster, FreeConstants());
  ASSERT_TRUE(result) << ToString(result.error());
  EXPECT_NEAR(result->seconds, 1.1e-3, 4e-9);
  EXPECT_NEAR(result->ranks[2].unpack_end_seconds, 1.1e-3, 4e-9);
  EXPECT_EQ(result->ranks[3].exchange_end_seconds, 0);

  ASSERT_NE(UseOf(*result, "NIC 0 out"), nullptr);
  EXPECT_EQ(UseOf(*result, "NIC 0 out")->bytes, 50'000'000);
  EXPECT_EQ(UseOf(*result, "NIC 0 out")->rate_gbps, 50);
  EXPECT_NEAR(UseOf(*result, "NIC 0 out")->busy, 1 / 1.1, 1e-5);
  EXPECT_EQ(UseOf(*result, "NIC 2 in")->bytes, 50'000'000);
  EXPECT_EQ(UseOf(*result, "NIC 2 out")->bytes, 0);
  EXPECT_EQ(UseOf(*result, "GPU 0 NVLink out")->bytes, 40'000'000);
  EXPECT_EQ(UseOf(*result, "GPU 1 NVLink in")->bytes, 40'000'000);
  EXPECT_EQ(UseOf(*result, "GPU 2 HBM")->bytes, 100'000'000);
  // 4 NICs out and in, 4 GPUs NVLink out and in, 4 HBM; NICs first.
  EXPECT_EQ(result->resources.size(), 20U);
  EXPECT_EQ(result->resources.front().name, "NIC 0 out");
  EXPECT_EQ(result->resources.back().name, "GPU 3 HBM");
}

// NICs of 50 and 30 that are one resource are reported apart: 5/8 and 3/8 of the bytes.
TEST(SimulateTest, ReportsNicsApart) {
  Cluster cluster = SampleCluster(2, 1);
  cluster.nics.push_back({0, 0, 0, 30, {0}});
  cluster.gpus[0].nics = {0, 2};
  cluster.fabric.switches.push_back({{1}, 1});
  const Result<SimulationResult> result =
      Simulate(SamplePlan(cluster).Send(0, 1, 80'000'000).plan, cluster, FreeConstants());
  ASSERT_TRUE(result);
  EXPECT_EQ(UseOf(*result, "NIC 0 out")->bytes, 50'000'000);
  EXPECT_EQ(UseOf(*result, "NIC 2 out")->bytes, 30'000'000);
  EXPECT_EQ(UseOf(*result, "NIC 0 out")->busy, UseOf(*result, "NIC 2 out")->busy);
  EXPECT_EQ(UseOf(*result, "switch 0 ingress")->bytes, 80'000'000);
  EXPECT_EQ(result->resources.back().name, "switch 0 ingress");
}

TEST(SimulateTest, RefusesWhatDoesNotFitTheCluster) {
  const Cluster cluster = SampleCluster(2, 1);
  const SamplePlan sample = SamplePlan(cluster).Send(0, 1, 1024);
  const auto error = [&](const Plan& plan, const Cluster& on) {
    const Result<SimulationResult> result = Simulate(plan, on, FreeConstants());
    return result ? std::string("none") : ToString(result.error());
  };
  EXPECT_EQ(error(sample.plan, cluster), "none");
  Cluster dead = cluster;
  dead.gpus[1].dead = true;
  EXPECT_THAT(error(sample.plan, dead), HasSubstr("cluster: GPU 1: is dead, but rank 1"));
  EXPECT_THAT(error(sample.plan, SampleCluster(1, 1)), HasSubstr("rank 1: sits on GPU 1"));
  Cluster torn = cluster;
  torn.gpus[0].nics = {7};
  EXPECT_THAT(error(sample.plan, torn), HasSubstr("cluster: GPU 0: names a NIC"));
  torn = cluster;
  torn.gpus[0].domain = 2;
  EXPECT_THAT(error(sample.plan, torn), HasSubstr("cluster: GPU 0: its domain"));
  Plan plan = sample.plan;
  plan.job.options.nic_share = 0;
  EXPECT_THAT(error(plan, cluster), HasSubstr("options.nicShare"));
  plan = sample.plan;
  plan.job.ranks[1].gpu = 0;
  EXPECT_THAT(error(plan, cluster), HasSubstr("do not ascend"));
}

// A rate of 0 where no bytes pass is no fault.
TEST(SimulateTest, ARateOfNothingIsFineWhereNothingPasses) {
  Cluster cluster = SampleCluster(3, 1);
  cluster.nics[2].gbps = 0;
  EXPECT_TRUE(Simulate(SamplePlan(cluster).Send(0, 1, 1024).plan, cluster, FreeConstants()));
}

// Renumbering domains, and with them GPUs and ranks, renumbers the result and changes no time.
TEST(SimulateTest, NumberingDoesNotCount) {
  const Cluster cluster = SampleCluster(8, 1);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<RankIndex> to_new = {0, 1, 2, 3, 4, 5, 6, 7};
    std::shuffle(to_new.begin(), to_new.end(), random);
    SamplePlan plain(cluster);
    SamplePlan renumbered(cluster);
    for (int i = 0; i < 40; ++i) {
      const auto from = static_cast<RankIndex>(random() % 8);
      const auto to = static_cast<RankIndex>((from + 1 + random() % 7) % 8);
      const auto bytes = static_cast<std::int64_t>(16 * (1 + random() % 100000));
      const auto round = static_cast<RoundIndex>(random() % 4);
      plain.Send(from, to, bytes, round);
      renumbered.Send(to_new[static_cast<std::size_t>(from)], to_new[static_cast<std::size_t>(to)],
                      bytes, round);
    }
    const Result<SimulationResult> a = Simulate(plain.plan, cluster, *DefaultConstants());
    const Result<SimulationResult> b = Simulate(renumbered.plan, cluster, *DefaultConstants());
    ASSERT_TRUE(a && b);
    // Sums in another order round differently: a few nanoseconds at most.
    EXPECT_NEAR(a->seconds, b->seconds, 50e-9) << "seed " << seed;
    for (std::size_t rank = 0; rank < 8; ++rank) {
      EXPECT_NEAR(a->ranks[rank].exchange_end_seconds,
                  b->ranks[static_cast<std::size_t>(to_new[rank])].exchange_end_seconds, 50e-9);
    }
  }
}

}  // namespace
}  // namespace reshard
