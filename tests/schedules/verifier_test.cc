#include "schedules/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/schedules/plan_damage.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

TEST(VerifierTest, ASoundPlanIsAcceptedWithItsMaxima) {
  const auto report = Verify(SmallPlan());
  ASSERT_TRUE(report.has_value()) << ToString(report.error());
  // Rank 0 has two instances of 80 bytes, rank 2 two of 64.
  EXPECT_EQ(report->staging_bytes_max, 160);
  EXPECT_EQ(report->staging_rank, 0);
  // Rank 0 sends to 2 and 3; rank 2 receives from 0 and sends to 1; rank 3 likewise.
  EXPECT_EQ(report->ops_per_group_max, 2);
  EXPECT_EQ(report->peers_max, 2);
  // Between domains: 72 + 128 to rank 2, 64 to rank 3, and rank 2's 72 back to rank 1; inside: 3
  // to 4.
  EXPECT_EQ(report->network_bytes, 72 + 128 + 64 + 72);
  EXPECT_EQ(report->nvlink_bytes, 64);
}

TEST(VerifierTest, ATensorInPlaceNeedsNoMove) {
  EXPECT_EQ(VerdictOn(SmallInPlacePlan()), "accepted");
}

TEST(VerifierTest, AnEmptyPlanPromisesNothingAndKeepsIt) {
  EXPECT_EQ(VerdictOn(Plan{}), "accepted");
}

// Plans that look unusual and are sound: the verifier must not refuse what its promises allow.
TEST(SoundPlanTest, AnInstanceThatIsNeverReusedNeedsNoWaitForItsReaders) {
  Plan plan = SmallPlan();
  plan.schedules[0].slots[0].depth = 4;
  plan.schedules[0].waits.pop_back();
  EXPECT_EQ(VerdictOn(plan), "accepted");
  plan.schedules[0].slots[0].depth = 3;
  EXPECT_THAT(VerdictOn(plan), HasSubstr("overwrites"));
}

TEST(SoundPlanTest, WaitsMayBeHadThroughAnotherLane) {
  // Rank 4 unpacks round r after its exchange; let packing wait for unpacking of round r, and the
  // exchange of round r + 2 for packing of round r + 0 .. in two hops: 1 + 1.
  Plan plan = SmallPlan();
  plan.schedules[4].waits = {{Lane::kUnpack, Lane::kExchange, 0},
                             {Lane::kPack, Lane::kUnpack, 1},
                             {Lane::kExchange, Lane::kPack, 1}};
  EXPECT_EQ(VerdictOn(plan), "accepted");
  plan.schedules[4].waits[1].lag = 2;
  EXPECT_THAT(VerdictOn(plan), HasSubstr("overwrites"));
}

TEST(SoundPlanTest, EntriesNeedNotBeMerged) {
  // 128 contiguous bytes as 4 runs of 32.
  Plan plan = SmallPlan();
  ReplaceProgram(plan, 2, 1, 0, 32, {{2, 64}, {1, 7}, {2, 32}});
  EXPECT_EQ(VerdictOn(plan), "accepted");
}

TEST(SoundPlanTest, AHolderMayReceiveInsteadOfMoving) {
  // Rank 1 takes class 2 from rank 2 together with class 0, instead of its own copy.
  Plan plan = SmallPlan();
  plan.schedules[1].local_moves.clear();
  plan.schedules[1].slots[0].items.push_back({2, 1, kFromParameters, 0, true});
  plan.schedules[1].slots[0].capacity = 64;
  plan.transfers[2].source.item_count = 2;
  plan.transfers[2].destination.item_count = 2;
  EXPECT_EQ(VerdictOn(plan), "accepted");
}

}  // namespace
}  // namespace reshard
