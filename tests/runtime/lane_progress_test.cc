#include "runtime/lane_progress.h"

#include <gtest/gtest.h>

#include <vector>

namespace reshard {
namespace {

TEST(LaneProgressTest, LanesWithoutWaitsRunFreely) {
  LaneProgress progress({}, 2);
  for (const Lane lane : {Lane::kUnpack, Lane::kExchange, Lane::kPack}) {
    for (RoundIndex step = 0; step < 2; ++step) {
      ASSERT_TRUE(progress.CanBegin(lane));
      EXPECT_EQ(progress.Begin(lane), step);
      EXPECT_TRUE(progress.IsRunning(lane));
      EXPECT_FALSE(progress.CanBegin(lane));  // one step at a time
      EXPECT_FALSE(progress.IsDone());
      progress.End(lane);
    }
    EXPECT_FALSE(progress.CanBegin(lane));
  }
  EXPECT_TRUE(progress.IsDone());
}

TEST(LaneProgressTest, AWaitHoldsAStepUntilTheOtherHasEnded) {
  const std::vector<Wait> waits = {{Lane::kExchange, Lane::kPack, 0}};
  LaneProgress progress(waits, 2);
  EXPECT_FALSE(progress.CanBegin(Lane::kExchange));
  progress.Begin(Lane::kPack);
  EXPECT_FALSE(progress.CanBegin(Lane::kExchange));  // begun is not ended
  progress.End(Lane::kPack);
  EXPECT_TRUE(progress.CanBegin(Lane::kExchange));
  progress.Begin(Lane::kExchange);
  progress.End(Lane::kExchange);
  EXPECT_FALSE(progress.CanBegin(Lane::kExchange));  // step 1 waits for pack step 1
}

TEST(LaneProgressTest, ALagLetsTheFirstStepsGo) {
  const std::vector<Wait> waits = {{Lane::kPack, Lane::kExchange, 2}};
  LaneProgress progress(waits, 4);
  for (int step = 0; step < 2; ++step) {
    ASSERT_TRUE(progress.CanBegin(Lane::kPack));
    progress.Begin(Lane::kPack);
    progress.End(Lane::kPack);
  }
  EXPECT_FALSE(progress.CanBegin(Lane::kPack));  // step 2 waits for exchange step 0
  progress.Begin(Lane::kExchange);
  progress.End(Lane::kExchange);
  EXPECT_TRUE(progress.CanBegin(Lane::kPack));
}

TEST(LaneProgressTest, NoRoundsAreDoneAtOnce) { EXPECT_TRUE(LaneProgress({}, 0).IsDone()); }

}  // namespace
}  // namespace reshard
