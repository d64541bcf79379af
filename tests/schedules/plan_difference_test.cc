#include "schedules/plan_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;

TEST(PlanDifferenceTest, EqualPlansDifferInNothing) {
  EXPECT_TRUE(DiffPlans(SmallPlan(), SmallPlan()).empty());
  EXPECT_EQ(Text(DiffPlans(SmallPlan(), SmallPlan())), "the plans are equal\n");
}

TEST(PlanDifferenceTest, WhatChangedIsNamedWithBothValues) {
  Plan other = SmallPlan();
  other.round_count = 6;
  other.certificate.predicted_seconds = 3e-5;
  other.job.options.planner = "direct";
  EXPECT_THAT(DiffPlans(SmallPlan(), other),
              ElementsAre(PlanDifference{"planner", "optimal", "direct"},
                          PlanDifference{"rounds", "5", "6"},
                          PlanDifference{"predicted time", "20.00 us", "30.00 us"}));
  EXPECT_EQ(Text(DiffPlans(SmallPlan(), other)),
            "planner: optimal -> direct\nrounds: 5 -> 6\npredicted time: 20.00 us -> 30.00 us\n");
}

TEST(PlanDifferenceTest, TensorsAreMatchedByName) {
  Plan other = SmallPlan();
  other.job.tensors[1].name = "bb";
  other.job.tensors[2].shape = {8};
  EXPECT_THAT(DiffPlans(SmallPlan(), other),
              ElementsAre(PlanDifference{"tensor \"b\"", "F32 [32]", "none"},
                          PlanDifference{"tensor \"bb\"", "none", "F32 [32]"},
                          PlanDifference{"tensor \"c\"", "BF16 [4]", "BF16 [8]"}));
}

TEST(PlanDifferenceTest, SchedulesAreNamedByRank) {
  Plan other = SmallPlan();
  other.schedules[3].slots[0].depth = 3;
  EXPECT_THAT(DiffPlans(SmallPlan(), other),
              ElementsAre(PlanDifference{"schedule of rank 3", "sends 64 B, staging 96 B",
                                         "sends 64 B, staging 112 B"}));
}

TEST(PlanDifferenceTest, ADifferenceWithoutALineOfItsOwnIsNotSilent) {
  Plan other = SmallPlan();
  other.job.layouts[2].parameters[0].name = "merged";
  EXPECT_THAT(DiffPlans(SmallPlan(), other), ElementsAre(PlanDifference{"layouts", "4", "4"}));
  other = SmallPlan();
  std::swap(other.transfers[0], other.transfers[1]);
  ASSERT_EQ(DiffPlans(SmallPlan(), other).size(), 1U);
}

}  // namespace
}  // namespace reshard
