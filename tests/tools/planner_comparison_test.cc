#include "tools/planner_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/planner.h"
#include "simulator/cost_model.h"
#include "tests/source_directory.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PlannerComparisonTest, NamesAreThoseOfPlannersEachOnce) {
  const std::vector<std::string_view> known = PlannerNames();
  EXPECT_EQ(ParsePlannerNames("all").value(), std::vector<std::string>(known.begin(), known.end()));
  EXPECT_THAT(ParsePlannerNames("direct,optimal,direct").value(), ElementsAre("direct", "optimal"));
  for (const char* text : {"", "direct,", "optimals", "ALL", "all,direct"}) {
    const auto refused = ParsePlannerNames(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().fault, Fault::kUsage) << text;
  }
  EXPECT_THAT(ToString(ParsePlannerNames("optimals").error()),
              HasSubstr("there is no planner 'optimals'; did you mean 'optimal'?"));
  EXPECT_THAT(ToString(ParsePlannerNames("direct,all").error()), HasSubstr("give it alone"));
}

// The rows say what compiling by each planner alone says.
TEST(PlannerComparisonTest, RowsAreThePlansOfTheirPlanners) {
  Result<Job> job = ReadJob(SourceDirectory() + "/schedules/reference/tiny-moe.job.json");
  ASSERT_TRUE(job) << ToString(job.error());
  const Constants constants = DefaultConstants().value();
  Progress progress;
  const auto comparison = ComparePlanners(*job, {"awex", "optimal"}, constants, progress);
  ASSERT_TRUE(comparison) << ToString(comparison.error());
  ASSERT_EQ(comparison->outcomes.size(), 2U);
  const SimulatedCostModel cost_model(job->cluster, constants);
  for (const PlannerOutcome& outcome : comparison->outcomes) {
    job->records.options.planner = outcome.planner;
    const Compiled compiled = Compile(*job, cost_model).value();
    EXPECT_EQ(outcome.predicted_seconds, compiled.plan.certificate.predicted_seconds);
    EXPECT_EQ(outcome.network_bytes, compiled.report.verified.network_bytes);
    EXPECT_EQ(outcome.staging_bytes_max, compiled.report.verified.staging_bytes_max);
    EXPECT_EQ(outcome.rounds, compiled.plan.round_count);
    EXPECT_EQ(outcome.coverage, 1);
    EXPECT_GE(outcome.busiest_nic_over_mean.value(), 1);
    EXPECT_GE(outcome.predicted_seconds, comparison->lower_bound_seconds);
  }
  EXPECT_GT(comparison->outcomes[0].operations_max, 0);
  EXPECT_EQ(comparison->outcomes[1].operations_max, 0);
}

// A page shows the plan of the job's own planner, which is compiled but once.
TEST(PlannerComparisonTest, KeepsThePlanOfTheJobsOwnPlanner) {
  const Result<Job> job = ReadJob(SourceDirectory() + "/schedules/reference/tiny-moe.job.json");
  ASSERT_TRUE(job) << ToString(job.error());
  const Constants constants = DefaultConstants().value();
  Progress progress;
  std::optional<Compiled> own;
  ASSERT_TRUE(ComparePlanners(*job, {"awex", "direct"}, constants, progress, &own));
  EXPECT_FALSE(own);
  ASSERT_TRUE(ComparePlanners(*job, {"awex", "optimal", "direct"}, constants, progress, &own));
  ASSERT_TRUE(own);
  EXPECT_EQ(own->plan, Compile(*job, SimulatedCostModel(job->cluster, constants))->plan);
}

TEST(PlannerComparisonTest, WhatIsMissingStandsBelowTheTable) {
  PlannerComparison comparison;
  comparison.lower_bound_seconds = 0.1;
  comparison.bound_by = "domain 1 ingress";
  PlannerOutcome partial;
  partial.planner = "megatron";
  partial.predicted_seconds = 0.25;
  partial.operations_max = 7;
  partial.coverage = 0.75;
  partial.omissions = {{3, 2, "cut into unequal parts", 1000}};
  partial.omitted_tensors = {"a.weight"};
  PlannerOutcome refused;
  refused.planner = "direct";
  refused.refusal = "no way";
  comparison.outcomes = {partial, refused};
  EXPECT_THAT(
      ComparisonText(comparison),
      AllOf(HasSubstr("lower bound  100.0 ms: domain 1 ingress"), HasSubstr("2.50"),
            HasSubstr("75.0 %"),
            HasSubstr("megatron leaves out 1.000 kB in 2 tensors (a.weight, ..): cut into unequal"),
            HasSubstr("direct makes no plan: no way")));
}

}  // namespace
}  // namespace reshard
