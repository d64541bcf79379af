#include "runtime/mpi/mpi_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/mpi/ranks.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

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
