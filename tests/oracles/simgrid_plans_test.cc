// Whole plans of the planner against SimGrid: lanes, waits, rounds and sharing together.
#include "simgrid_plans.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/cost_model.h"
#include "simulator/preparation.h"
#include "simulator/replay.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_job.h"

namespace reshard {
namespace {

constexpr std::size_t kPlans = 24;

// Bytes cost time, and nothing else does.
Constants OnlyBytes() {
  Constants constants = DefaultConstants().value();
  constants.network_channel_gbps = 1e6;
  constants.nvlink_channel_share = 1;
  constants.ll_kib = 0;
  constants.batch_us = constants.group_us = constants.kernel_launch_us = constants.host_node_us = 0;
  return constants;
}

TEST(SimGridPlansTest, PlansEndWhenSimGridSays) {
  RandomJobLimits limits;
  limits.plain_machine = true;
  limits.long_tensors = 100;
  limits.long_factor = 2'000'000;
  std::vector<RandomJob> jobs;
  std::vector<ReplayModel> models;
  std::vector<std::uint64_t> seeds;
  jobs.reserve(kPlans);  // models refer to their clusters
  std::int64_t transfers = 0;
  for (std::uint64_t seed = 1; models.size() < kPlans && seed < 200; ++seed) {
    RandomJob job = MakeRandomJob(seed, limits);
    for (Domain& domain : job.cluster.domains) {
      domain.nvlink_latency_us = domain.network_latency_us = 0;
    }
    jobs.push_back(std::move(job));
    const RandomJob& kept = jobs.back();
    const Constants constants = OnlyBytes();
    // Planned where rounds cost something: thousands of them would add up the clock's nanoseconds.
    const Result<Plan> plan = MakePlan(
        kept.job, kept.cluster, SimulatedCostModel(kept.cluster, DefaultConstants().value()));
    ASSERT_TRUE(plan) << "seed " << seed << ": " << ToString(plan.error());
    Result<PreparedReplay> prepared = PrepareReplay(*plan, kept.cluster, constants);
    ASSERT_TRUE(prepared) << "seed " << seed << ": " << ToString(prepared.error());
    if (plan->transfers.empty()) {
      jobs.pop_back();
      continue;
    }
    transfers += static_cast<std::int64_t>(plan->transfers.size());
    models.push_back(std::move(prepared->model));
    seeds.push_back(seed);
  }
  ASSERT_EQ(models.size(), kPlans);
  EXPECT_GT(transfers, 200);
  const std::vector<double> expected = PlanEndsBySimGrid(models);
  for (std::size_t m = 0; m < models.size(); ++m) {
    const Result<ReplayOutcome> outcome = RunReplay(models[m]);
    ASSERT_TRUE(outcome) << "seed " << seeds[m];
    EXPECT_NEAR(static_cast<double>(outcome->times.end) * 1e-9, expected[m], 1e-3 * expected[m])
        << "seed " << seeds[m];
  }
}

}  // namespace
}  // namespace reshard
