#include "runtime/trial_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(TrialReplayTest, CountsParametersAndStaging) {
  // Staging: rank 0 2 x 80, rank 1 2 x 32, rank 2 2 x 64, rank 3 up to 64 + 2 x 16, rank 4 2 x 16.
  const Plan plan = SmallPlan();
  EXPECT_EQ(*TrialReplay::BytesNeeded(plan), *TrialBytes(plan.job) + 160 + 64 + 128 + 96 + 32);
}

// Rank 0 packs and sends in rounds 0 to 3; rank 2 receives in these, sends on in rounds 1 to 4 and
// unpacks what arrives.
TEST(TrialReplayTest, TellsWhenEachStepRan) {
  const Plan plan = SmallPlan();
  TrialReplay trial = *TrialReplay::Make(plan, {});
  trial.Fill(1);
  ASSERT_TRUE(trial.Replay(1, 10s));
  EXPECT_TRUE(trial.StepTimes().empty());  // only where it was asked for
  ASSERT_TRUE(trial.RecordSteps());
  for (std::uint64_t refit = 2; refit <= 3; ++refit) {  // the second one counts anew
    trial.Fill(refit);
    ASSERT_TRUE(trial.Replay(refit, 10s));
    const std::vector<StepTime> steps = trial.StepTimes();
    std::map<std::pair<RankIndex, Lane>, std::vector<StepTime>> lanes;
    std::int64_t first = steps.front().start_ns;
    for (const StepTime& step : steps) {
      EXPECT_LE(step.start_ns, step.end_ns);
      first = std::min(first, step.start_ns);
      std::vector<StepTime>& lane = lanes[{step.rank, step.lane}];
      if (!lane.empty()) {  // one at a time, in order
        EXPECT_LE(lane.back().end_ns, step.start_ns);
        EXPECT_LT(lane.back().round, step.round);
      }
      lane.push_back(step);
    }
    EXPECT_EQ(first, 0);
    const std::vector<StepTime>& packs = lanes[{0, Lane::kPack}];
    const std::vector<StepTime>& sends = lanes[{0, Lane::kExchange}];
    EXPECT_EQ(packs.size(), 4U);
    EXPECT_EQ(sends.size(), 4U);
    EXPECT_EQ((lanes[{2, Lane::kExchange}].size()), 5U);
    EXPECT_EQ((lanes[{2, Lane::kUnpack}].size()), 4U);
    for (std::size_t i = 0; i < packs.size(); ++i) EXPECT_LE(packs[i].end_ns, sends[i].start_ns);
  }
}

TEST(TrialReplayTest, FindsAPlanThatDeliversWrongBytes) {
  // The halves of a swapped: class 0 reads columns 4..7 and class 1 columns 0..3 of the source.
  Plan plan = SmallPlan();
  CopyProgram left;
  left.layout = 0;
  left.demand_class = 0;
  left.Add(0, 8, 8, plan.programs[1][0].dims);
  left.Add(2, 0, 8, {});
  plan.programs[0] = left;
  TrialReplay trial = *TrialReplay::Make(plan, {});
  trial.Fill(1);
  ASSERT_TRUE(trial.Replay(1, 10s));
  const Result<void> checked = trial.Check(1);
  ASSERT_FALSE(checked);
  EXPECT_THAT(ToString(checked.error()),
              AllOf(HasSubstr("rank 1: destination parameter fused"), HasSubstr("byte 0 is")));
}

TEST(TrialReplayTest, FindsBytesThatNobodyDelivers) {
  Plan plan = SmallPlan();
  plan.schedules[4].slots[0].items[0].unpack = false;
  TrialReplay trial = *TrialReplay::Make(plan, {});
  trial.Fill(1);
  ASSERT_TRUE(trial.Replay(1, 10s));
  const Result<void> checked = trial.Check(1);
  ASSERT_FALSE(checked);
  // Untouched is 0xa5; byte 2 is the first of the region.
  EXPECT_THAT(ToString(checked.error()),
              AllOf(HasSubstr("rank 4: destination parameter a.right"), HasSubstr("is 0xa5")));
}

TEST(TrialReplayTest, ReportsTheErrorOfTheLowestRankThatFailed) {
  // Rank 2 waits with its exchange for its unpack of the same round, which waits for the exchange.
  Plan plan = SmallPlan();
  plan.schedules[2].waits.push_back({Lane::kExchange, Lane::kUnpack, 0});
  TrialReplay trial = *TrialReplay::Make(plan, {});
  trial.Fill(1);
  const Result<double> seconds = trial.Replay(1, 200ms);
  ASSERT_FALSE(seconds);
  EXPECT_THAT(ToString(seconds.error()), HasSubstr("rank 0: round 0 of version 1"));
  EXPECT_EQ(ToString(trial.engine(2).state()), "failed(maybe mutated)");
}

TEST(TrialReplayTest, RefusesAPlanThatCannotBeLowered) {
  Plan plan = SmallPlan();
  plan.schedules[0].slots[0].capacity = 64;
  const Result<TrialReplay> trial = TrialReplay::Make(plan, {});
  ASSERT_FALSE(trial);
  EXPECT_THAT(ToString(trial.error()), HasSubstr("rank 0: its part of the plan has"));
}

}  // namespace
}  // namespace reshard
