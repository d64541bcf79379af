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

// Zeros in shared memory, behind the 36 elements that arrive in "fused": element 40 lies over bytes
// 80 and 81 of the source's "b", which the local move reads up to round 3 (see above).
TEST(InPlaceTest, ZerosWaitForTheLastReadOfAByte) {
  Plan plan = SmallPlan();
  plan.job.in_place = {{"b", "fused"}};
  plan.profiles.push_back({{1}});
  plan.columns[2].profile = 1;  // all of class 2 is moved in round 0
  plan.schedules[0].slots[0].capacity = 160;
  plan.schedules[2].slots[0].capacity = 160;
  plan.job.layouts[2].parameters[0].shape = {11, 4};
  plan.job.layouts[2].zeros.Add({kZeroTensor, 0, 40, Longs{0}, Longs{1}, Longs{1}});
  CopyProgram zeros;
  zeros.layout = 2;
  zeros.demand_class = kZeroClass;
  zeros.Add(0, 80, 2, std::vector<CopyDim>{});
  plan.programs.insert(plan.programs.begin() + 4, zeros);
  plan.schedules[1].zero_round = 0;
  plan.schedules[2].zero_round = 0;
  EXPECT_THAT(VerdictOn(plan), HasSubstr("rank 1, zeros 0: round 0 writes it in place over "
                                         "fragment 3 of class 2, which round 0 may still read"));
  plan.schedules[1].zero_round = 1;
  EXPECT_EQ(VerdictOn(plan), "accepted");
}

// Rank 1 has "b" in place and once more in a parameter of its own: the local move writes that one
// from the first, which stays.
TEST(InPlaceTest, ASecondPlaceIsWrittenFromTheFirst) {
  Plan plan = SmallInPlacePlan();
  RankLayout& layout = plan.job.layouts[2];
  layout.parameters.push_back({"b.2", DType::kF32, {32}});
  RegionTable regions;
  regions.Add(layout.regions[0]);
  regions.Add(layout.regions[1]);
  regions.Add({1, 2, 0, Longs{0}, Longs{32}, Longs{1}});
  regions.Add(layout.regions[2]);
  layout.regions = regions;
  CopyProgram place;
  place.layout = 2;
  place.demand_class = 2;
  place.Add(2, 0, 128, std::vector<CopyDim>{});
  plan.programs.insert(plan.programs.begin() + 6, place);
  EXPECT_THAT(VerdictOn(plan), HasSubstr("rank 1, class 2: bytes [0, 128) are never written"));
  plan.schedules[1].local_moves = {{2, 0}};
  EXPECT_EQ(VerdictOn(plan), "accepted");
}

}  // namespace
}  // namespace reshard
