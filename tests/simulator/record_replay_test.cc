#include "simulator/record_replay.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <utility>

#include "sample_plan.h"
#include "simulator/simulate.h"

namespace reshard {
namespace {

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// 0 -> 2 over NICs in rounds 0 to 3, 2 -> 3 inside domain 1 in rounds 1 to 2; latency free.
SamplePlan SomePlan(const Cluster& cluster) {
  SamplePlan sample(cluster);
  sample.Send(0, 2, 4 * 1600, 0, 4, true, false).Send(2, 3, 2 * 3200, 1, 2, true, true);
  sample.WaitFor(0, Lane::kExchange, Lane::kPack, 0).WaitFor(3, Lane::kUnpack, Lane::kExchange, 0);
  return sample;
}

TEST(RecordReplayTest, StepsAndBytesAreThoseOfThePlan) {
  const Cluster cluster = SampleCluster(2, 2);
  const SamplePlan sample = SomePlan(cluster);
  const Result<ReplayRecord> record = RecordReplay(sample.plan, cluster, *DefaultConstants(), 50);
  ASSERT_TRUE(record) << ToString(record.error());
  const Result<SimulationResult> simulated = Simulate(sample.plan, cluster, *DefaultConstants());
  EXPECT_NEAR(static_cast<double>(record->end_ns) * 1e-9, simulated->seconds,
              1e-5 * simulated->seconds);

  std::map<std::pair<RankIndex, Lane>, int> steps;
  std::int64_t before = 0;
  for (const StepTime& step : record->steps) {
    ++steps[{step.rank, step.lane}];
    EXPECT_LT(step.start_ns, step.end_ns);
    EXPECT_GE(step.end_ns, before);
    before = step.end_ns;
  }
  EXPECT_EQ(before, record->end_ns);
  const std::map<std::pair<RankIndex, Lane>, int> expected = {
      {{0, Lane::kPack}, 4},     {{0, Lane::kExchange}, 4}, {{2, Lane::kPack}, 2},
      {{2, Lane::kExchange}, 4}, {{3, Lane::kExchange}, 2}, {{3, Lane::kUnpack}, 2}};
  EXPECT_EQ(steps, expected);

  ASSERT_EQ(record->rounds.size(), 4U);
  for (const RoundTraffic& round : record->rounds) {
    EXPECT_EQ(round.out, (std::vector<std::int64_t>{1600, 0}));
    EXPECT_EQ(round.in, (std::vector<std::int64_t>{0, 1600}));
  }
  EXPECT_EQ(record->rounds[0].inside, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(record->rounds[1].inside, (std::vector<std::int64_t>{0, 3200}));
}

// What each stretch carried, summed, is what the plan carries.
TEST(RecordReplayTest, LoadsAddUpToTheBytes) {
  const Cluster cluster = SampleCluster(2, 2);
  const Result<ReplayRecord> record =
      RecordReplay(SomePlan(cluster).plan, cluster, FreeConstants(), 30);
  ASSERT_TRUE(record);
  ASSERT_EQ(record->domains.size(), 2U);
  const auto stretch = static_cast<double>(record->stretch_ns);
  const double nic_rate = 2 * 50;  // GB/s of a domain's two NICs; a byte takes 1 / GBps ns
  const double nvlink_rate = 2 * 400;
  const auto bytes = [&](const std::vector<double>& load, double rate) {
    return Sum(load) * stretch * rate;
  };
  EXPECT_NEAR(bytes(record->domains[0].nic_out, nic_rate), 6400, 1);
  EXPECT_NEAR(bytes(record->domains[1].nic_in, nic_rate), 6400, 1);
  EXPECT_NEAR(bytes(record->domains[1].nvlink, nvlink_rate), 6400, 1);
  EXPECT_EQ(Sum(record->domains[0].nic_in), 0);
  EXPECT_EQ(Sum(record->domains[0].nvlink), 0);
  for (const DomainLoad& load : record->domains) {
    EXPECT_EQ(load.nic_out.size(), record->domains[0].nvlink.size());
    for (const double share : load.nic_in) EXPECT_LE(share, 1 + 1e-9);
  }
}

TEST(RecordReplayTest, FailsAsTheSimulationDoes) {
  Cluster cluster = SampleCluster(2, 2);
  const SamplePlan sample = SomePlan(cluster);
  cluster.nics[0].gbps = 0;
  const Result<ReplayRecord> record = RecordReplay(sample.plan, cluster, FreeConstants());
  ASSERT_FALSE(record);
  EXPECT_EQ(ToString(record.error()),
            ToString(Simulate(sample.plan, cluster, FreeConstants()).error()));
}

}  // namespace
}  // namespace reshard
