#include "runtime/nccl/nccl_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/doubles/controls.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

// All ranks on GPUs of one host: as a plan of one node and one domain believes.
Plan PlanOfOneNode() {
  Plan plan = SmallPlan();
  for (Rank& rank : plan.job.ranks) rank.node = rank.domain = 0;
  return plan;
}

// What each rank says in the end, "" if all was right; a thread each.
std::vector<std::string> RunTrials(const Plan& plan) {
  const UniqueId id = *MakeUniqueId();
  std::vector<std::string> said(plan.job.ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < said.size(); ++r) {
    threads.emplace_back([&, r] {
      Result<NcclTrial> trial =
          NcclTrial::Make(plan, static_cast<RankIndex>(r), id, static_cast<int>(r), 20s);
      if (!trial) {
        said[r] = ToString(trial.error());
        return;
      }
      for (std::uint64_t refit = 1; refit <= 3 && said[r].empty(); ++refit) {
        trial->Fill(refit);
        const Result<double> seconds = trial->Replay(refit, 20s);
        const Result<void> right = trial->Check(refit);
        if (!seconds) said[r] = ToString(seconds.error());
        if (!right) said[r] += ToString(right.error());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

TEST(NcclTrialTest, InstallsRefitAfterRefit) {
  EXPECT_EQ(RunTrials(PlanOfOneNode()), std::vector<std::string>(5));
}

TEST(NcclTrialTest, SaysThatItsRanksSitElsewhere) {
  for (const std::string& said : RunTrials(SmallPlan())) {
    EXPECT_THAT(said, HasSubstr("sits elsewhere than the plan believes"));
  }
}

// Rank 4 never replays, and NCCL does not stop: what the others gave to the replay is never freed.
TEST(NcclTrialTest, FreesNothingThatMayStillBeWrittenTo) {
  const Plan plan = PlanOfOneNode();
  const UniqueId id = *MakeUniqueId();
  std::vector<std::optional<NcclTrial>> trials(5);
  std::vector<std::string> said(5);
  const auto on_ranks = [](std::size_t count, const auto& function) {
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < count; ++r) threads.emplace_back([&function, r] { function(r); });
    for (std::thread& thread : threads) thread.join();
  };
  on_ranks(5, [&](std::size_t r) {
    Result<NcclTrial> made =
        NcclTrial::Make(plan, static_cast<RankIndex>(r), id, static_cast<int>(r), 20s);
    if (made) trials[r].emplace(*std::move(made));
  });
  for (const auto& trial : trials) ASSERT_TRUE(trial);
  const doubles::Controls usual = doubles::GetControls();
  doubles::Controls controls = usual;
  controls.abort_hangs = true;
  doubles::SetControls(controls);
  on_ranks(4, [&](std::size_t r) {
    trials[r]->Fill(1);
    const Result<double> seconds = trials[r]->Replay(1, 100ms);
    said[r] = seconds ? "installed" : ToString(seconds.error());
  });
  for (std::size_t r = 0; r < 4; ++r) EXPECT_THAT(said[r], HasSubstr("failed(abandoned)"));
  const doubles::Live before = doubles::LiveObjects();
  for (std::size_t r = 0; r < 4; ++r) trials[r].reset();
  EXPECT_TRUE(doubles::LiveObjects() == before);
  doubles::SetControls(usual);
}

TEST(NcclTrialTest, RefusesAGpuThatIsNotThere) {
  const Plan plan = SmallPlan();
  const auto trial = NcclTrial::Make(plan, 0, *MakeUniqueId(), 99, 1s);
  ASSERT_FALSE(trial);
  EXPECT_THAT(ToString(trial.error()), HasSubstr("GPU 99 cannot be used"));
}

}  // namespace
}  // namespace reshard
