#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "schedules/plan_codec.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

Plan PlanWithOmission() {
  Plan plan = SmallTrafficPlan();
  plan.traffic->streams[0].phases[0].is_send_receive = false;
  plan.traffic->class_bytes[1] = 60;
  plan.traffic->omissions = {{2, 1, "too odd a layout", 8}};
  return plan;
}

TEST(TrafficSectionTest, ComesBackEqual) {
  const Plan plan = PlanWithOmission();
  const std::string bytes = *EncodePlan(plan);
  const auto decoded = DecodePlan(bytes, "f");
  ASSERT_TRUE(decoded) << ToString(decoded.error());
  EXPECT_EQ(*decoded, plan);
  EXPECT_EQ(*EncodePlan(*decoded), bytes);
}

TEST(TrafficSectionTest, TurnsComeBackAndAreNotWrittenWhereAllIsOneTurn) {
  // So that files of one turn are what they were before there were turns.
  const std::string one_turn = *EncodePlan(PlanWithOmission());
  Plan plan = PlanWithOmission();
  plan.traffic->streams[1].turn = 1;
  const std::string two_turns = *EncodePlan(plan);
  EXPECT_GT(two_turns.size(), one_turn.size());
  EXPECT_EQ(*DecodePlan(two_turns, "f"), plan);
  EXPECT_EQ(DecodePlan(one_turn, "f")->traffic->streams[1].turn, 0);
}

TEST(TrafficSectionTest, APlanWithoutTrafficHasNoSuchSection) {
  const auto decoded = DecodePlan(*EncodePlan(SmallPlan()), "f");
  ASSERT_TRUE(decoded);
  EXPECT_FALSE(decoded->traffic);
}

TEST(TrafficSectionTest, EveryFlippedBitAndTruncationIsRefused) {
  const std::string bytes = *EncodePlan(PlanWithOmission());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    EXPECT_FALSE(DecodePlan(damaged, "f")) << "byte " << i;
    EXPECT_FALSE(DecodePlan(std::string_view(bytes).substr(0, i), "f")) << i << " bytes";
  }
}

TEST(TrafficSectionTest, ARankPartIsRefused) {
  const std::string path = ::testing::TempDir() + "traffic_section_test.reshard";
  ASSERT_TRUE(WritePlanFile(SmallTrafficPlan(), path));
  const auto part = ReadRankPart(path, 0);
  std::remove(path.c_str());
  ASSERT_FALSE(part);
  EXPECT_THAT(ToString(part.error()),
              HasSubstr("is a simulation-only plan, which has nothing to replay; compile the job "
                        "with --planner optimal"));
}

}  // namespace
}  // namespace reshard
