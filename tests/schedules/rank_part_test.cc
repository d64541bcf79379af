#include "schedules/rank_part.h"

#include <gtest/gtest.h>

#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

TEST(RankPartTest, ASourceHasWhatItPacksAndSends) {
  const RankPart part = ExtractRankPart(SmallPlan(), 0);
  EXPECT_EQ(part.rank_count, 5);
  EXPECT_EQ(part.record.gpu, 0);
  EXPECT_EQ(part.staging_bytes, 160);
  EXPECT_EQ(part.source_parameters.size(), 3U);
  EXPECT_TRUE(part.destination_parameters.empty());
  ASSERT_EQ(part.source_programs.size(), 3U);
  EXPECT_EQ(part.source_programs[1].demand_class, 1);
  EXPECT_TRUE(part.destination_programs.empty());
  ASSERT_EQ(part.sends.size(), 2U);
  EXPECT_EQ(part.sends[0], (RankTransfer{2, 0, {0, 1, 2}}));
  EXPECT_EQ(part.sends[1], (RankTransfer{3, 0, {0, 0, 1}}));
  EXPECT_TRUE(part.receives.empty());
}

TEST(RankPartTest, ColumnsAndProfilesAreRenumbered) {
  // Rank 1 receives column 0 and moves column 2: its own columns 0 and 1.
  Plan plan = SmallPlan();
  plan.profiles.insert(plan.profiles.begin(), Profile{{1}});
  for (Column& column : plan.columns) column.profile = 1;
  const RankPart part = ExtractRankPart(plan, 1);
  ASSERT_EQ(part.profiles.size(), 1U);
  EXPECT_EQ(part.profiles[0].weights.size(), 4U);
  ASSERT_EQ(part.columns.size(), 2U);
  EXPECT_EQ(part.columns[0], (Column{0, 0, 0, 72}));
  EXPECT_EQ(part.columns[1], (Column{2, 0, 0, 128}));
  EXPECT_EQ(part.schedule.slots[0].items[0].column, 0);
  EXPECT_EQ(part.schedule.local_moves[0].column, 1);
  ASSERT_EQ(part.source_programs.size(), 1U);
  EXPECT_EQ(part.source_programs[0].layout, 1);
  ASSERT_EQ(part.destination_programs.size(), 2U);
  EXPECT_EQ(part.receives, (std::vector<RankTransfer>{{2, 0, {0, 0, 1}}}));
}

TEST(RankPartTest, ARelayThatUnpacksAllReadsNoParameters) {
  const RankPart part = ExtractRankPart(SmallPlan(), 2);
  EXPECT_TRUE(part.source_programs.empty());
  EXPECT_EQ(part.destination_programs.size(), 2U);
  ASSERT_EQ(part.sends.size(), 1U);
  EXPECT_EQ(part.sends[0].lag, 1);
}

TEST(RankPartTest, OnlyPairsOfItsOwnParametersShareMemory) {
  EXPECT_EQ(ExtractRankPart(SmallInPlacePlan(), 1).in_place.size(), 1U);
  EXPECT_TRUE(ExtractRankPart(SmallInPlacePlan(), 0).in_place.empty());
  EXPECT_TRUE(ExtractRankPart(SmallPlan(), 1).in_place.empty());
}

}  // namespace
}  // namespace reshard
