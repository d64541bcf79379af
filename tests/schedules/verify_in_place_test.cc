#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/schedules/plan_damage.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

// In place: rank 1's "b" is source and destination.
TEST(InPlaceTest, BytesInPlaceAreNotMovedAsWell) {
  Plan plan = SmallInPlacePlan();
  plan.schedules[1].local_moves = {{2, 0}};
  EXPECT_THAT(VerdictOn(plan), HasSubstr("rank 1, class 2: bytes [0, 128) are written twice"));
}

TEST(InPlaceTest, OtherPairsSaveNothing) {
  Plan plan = SmallInPlacePlan();
  plan.job.in_place = {{"b", "fused"}};
  EXPECT_THAT(VerdictOn(plan), HasSubstr("rank 1, class 2: bytes [0, 128) are never written"));
}

// Rank 1's source "b" shares memory with its destination "fused": 72 bytes of class 0, which arrive
// in rounds 1..4, overwrite the first 72 bytes of b, which the local move of class 2 reads in
// rounds first_round .. first_round + 3. The write of round 1 is then over a byte read in round 0
// at the earliest, and up to byte 128 in round 3.
TEST(InPlaceTest, WritesWaitForTheLastReadOfAByte) {
  Plan plan = SmallPlan();
  plan.job.in_place = {{"b", "fused"}};
  EXPECT_THAT(VerdictOn(plan),
              HasSubstr("rank 1, class 0, fragment 0: round 1 writes it in place over "
                        "fragment 3 of class 2, which round 3 may still read"));
  // Once all of class 2 is moved in round 0, nothing is left to be read in round 1.
  plan.profiles.push_back({{1}});
  plan.columns[2].profile = 1;
  plan.schedules[0].slots[0].capacity = 160;
  plan.schedules[2].slots[0].capacity = 160;
  EXPECT_EQ(VerdictOn(plan), "accepted");
  // The order of a step's own moves and unpacking is not promised.
  plan.schedules[1].local_moves[0].first_round = 1;
  EXPECT_THAT(VerdictOn(plan), HasSubstr("round 1 may still read"));
}

}  // namespace
}  // namespace reshard
