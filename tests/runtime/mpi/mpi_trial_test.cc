#include "runtime/mpi/mpi_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tests/runtime/mpi/ranks.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kDeadline{60};

TEST(MpiTrialTest, ReplaysAndChecks) {
  for (const Plan& plan : {SmallPlan(), SmallInPlacePlan()}) {
    Result<MpiTrial> trial = MpiTrial::Make(plan, TheWorld(), kDeadline);
    ASSERT_TRUE(trial) << ToString(trial.error());
    for (std::uint64_t refit = 1; refit <= 3; ++refit) {
      trial->Fill(refit);
      const Result<double> seconds = trial->Replay(refit, kDeadline);
      ASSERT_TRUE(seconds) << ToString(seconds.error());
      EXPECT_GT(*seconds, 0);
      const Result<void> right = trial->Check(refit);
      EXPECT_TRUE(right) << ToString(right.error());
    }
    Meet();
  }
}

// Rank 0 packs and sends in rounds 0 to 3, rank 4 receives and unpacks in rounds 1 to 4.
TEST(MpiTrialTest, TellsWhenEachStepOfAllRanksRan) {
  const Plan plan = SmallPlan();
  Result<MpiTrial> trial = MpiTrial::Make(plan, TheWorld(), kDeadline);
  ASSERT_TRUE(trial) << ToString(trial.error());
  ASSERT_TRUE(trial->RecordSteps());
  for (std::uint64_t refit = 1; refit <= 2; ++refit) {
    trial->Fill(refit);
    ASSERT_TRUE(trial->Replay(refit, kDeadline));
  }
  const Result<std::vector<StepTime>> steps = trial->StepTimes();
  ASSERT_TRUE(steps) << ToString(steps.error());
  std::map<std::pair<RankIndex, Lane>, std::vector<RoundIndex>> rounds;
  std::int64_t first = 1;
  for (const StepTime& step : *steps) {
    EXPECT_LE(step.start_ns, step.end_ns);
    first = std::min(first, step.start_ns);
    rounds[{step.rank, step.lane}].push_back(step.round);
  }
  EXPECT_EQ(first, 0);
  const auto of = [&](RankIndex rank, Lane lane) { return rounds[{rank, lane}]; };
  EXPECT_THAT(of(0, Lane::kPack), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(of(0, Lane::kExchange), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(of(0, Lane::kUnpack), ElementsAre());
  EXPECT_THAT(of(4, Lane::kPack), ElementsAre());
  EXPECT_THAT(of(4, Lane::kExchange), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(of(4, Lane::kUnpack), ElementsAre(1, 2, 3, 4));
  Meet();
}

// Rank 0 fills another refit's values than the others expect: content that no holder of theirs has.
TEST(MpiTrialTest, WrongContentIsAnErrorOnEveryRank) {
  const Plan plan = SmallPlan();
  Result<MpiTrial> trial = MpiTrial::Make(plan, TheWorld(), kDeadline);
  ASSERT_TRUE(trial) << ToString(trial.error());
  trial->Fill(TheWorld().rank() == 0 ? 2 : 1);
  ASSERT_TRUE(trial->Replay(1, kDeadline));
  const Result<void> right = trial->Check(1);
  ASSERT_FALSE(right);
  EXPECT_EQ(right.error().fault, Fault::kRun);
  Meet();
}

// What a rank needs is its own share: together no more than the whole job in one process.
TEST(MpiTrialTest, NeedsItsOwnParametersAndStaging) {
  const Plan plan = SmallPlan();
  for (RankIndex rank = 0; rank < 5; ++rank) {
    const Result<std::int64_t> needed = MpiTrial::BytesNeeded(plan, rank);
    ASSERT_TRUE(needed);
    EXPECT_GE(*needed, StagingBytes(plan.schedules[static_cast<std::size_t>(rank)]));
  }
}

}  // namespace
}  // namespace reshard
