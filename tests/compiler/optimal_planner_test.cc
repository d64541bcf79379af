#include "compiler/optimal_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/compiler/plan_execution.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_job.h"

namespace reshard {
namespace {

// Jobs the planner may refuse say why in these words.
bool IsRefusal(const Error& error) {
  return error.fault == Fault::kInput && error.reason.find("bandwidth") != std::string::npos;
}

TEST(OptimalPlanner, EveryByteOfRandomJobsArrives) {
  int planned = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomJob random = MakeRandomJob(seed);
    const CountingCostModel cost_model(seed % 2 == 0 ? 1e-3 : 1e-9);
    const Result<Plan> plan = MakePlan(random.job, random.cluster, cost_model);
    if (!plan) {
      EXPECT_TRUE(IsRefusal(plan.error())) << ToString(plan.error());
      continue;
    }
    ++planned;
    EXPECT_EQ(ExecutePlan(*plan, seed), "");
  }
  EXPECT_GT(planned, 1800);
}

TEST(OptimalPlanner, EveryByteOfLongRandomJobsArrives) {
  int planned = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 70;
    limits.extent = 12;
    RandomJob random = MakeRandomJob(seed, limits);
    if (seed % 3 == 0) random.job.options.chunk_bytes = 128 << 10;
    const CountingCostModel cost_model(seed % 2 == 0 ? 1e-3 : 1e-7);
    const Result<Plan> plan = MakePlan(random.job, random.cluster, cost_model);
    if (!plan) {
      EXPECT_TRUE(IsRefusal(plan.error())) << ToString(plan.error());
      continue;
    }
    ++planned;
    EXPECT_EQ(ExecutePlan(*plan, seed), "");
  }
  EXPECT_GT(planned, 130);
}

}  // namespace
}  // namespace reshard
