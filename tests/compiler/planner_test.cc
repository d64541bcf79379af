#include "compiler/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reshard {
namespace {

TEST(MakePlanner, EveryNameMakesThePlannerOfThatName) {
  const std::vector<std::string_view> names = PlannerNames();
  EXPECT_THAT(names, testing::Contains("optimal"));
  for (const std::string_view name : names) {
    const std::unique_ptr<Planner> planner = MakePlanner(name);
    ASSERT_NE(planner, nullptr) << name;
    EXPECT_EQ(planner->Name(), name);
  }
}

TEST(MakePlanner, NoOtherNameDoes) {
  EXPECT_EQ(MakePlanner(""), nullptr);
  EXPECT_EQ(MakePlanner("Optimal"), nullptr);
  EXPECT_EQ(MakePlanner("optimal "), nullptr);
}

}  // namespace
}  // namespace reshard
