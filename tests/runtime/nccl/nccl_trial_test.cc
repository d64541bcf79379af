#include "runtime/nccl/nccl_trial.h"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/nccl/device_mirror.h"
#include "tests/doubles/controls.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// All ranks on GPUs of one host: as a plan of one node and one domain believes.
Plan PlanOfOneNode() {
  Plan plan = SmallPlan();
  for (Rank& rank : plan.job.ranks) rank.node = rank.domain = 0;
  return plan;
}

// What each rank says in the end, "" if all was right; a thread each. `replay` is given every
// rank's trial once it has been made.
using Replay = std::function<std::string(NcclTrial&, RankIndex)>;
std::vector<std::string> RunTrials(const Plan& plan, const Replay& replay) {
  const UniqueId id = *MakeUniqueId();
  std::vector<std::string> said(plan.job.ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < said.size(); ++r) {
    threads.emplace_back([&, r] {
      const auto rank = static_cast<RankIndex>(r);
      Result<NcclTrial> trial = NcclTrial::Make(plan, rank, {id, rank, 20s, true});
      said[r] = trial ? replay(*trial, rank) : ToString(trial.error());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

std::string ReplayAndCheck(NcclTrial& trial, RankIndex) {
  std::string said;
  for (std::uint64_t refit = 1; refit <= 3 && said.empty(); ++refit) {
    trial.Fill(refit);
    const Result<double> seconds = trial.Replay(refit, 20s);
    const Result<void> right = trial.Check(refit);
    if (!seconds) said = ToString(seconds.error());
    if (!right) said += ToString(right.error());
  }
  return said;
}

TEST(NcclTrialTest, InstallsRefitAfterRefit) {
  EXPECT_EQ(RunTrials(PlanOfOneNode(), ReplayAndCheck), std::vector<std::string>(5));
}

// Source and destination "b" of rank 1 are one buffer: its digests are those from before the refit.
TEST(NcclTrialTest, InstallsInPlace) {
  Plan plan = SmallInPlacePlan();
  for (Rank& rank : plan.job.ranks) rank.node = rank.domain = 0;
  EXPECT_EQ(RunTrials(plan, ReplayAndCheck), std::vector<std::string>(5));
}

// Byte 5 of "fused" on rank 2, where columns 0 to 3 of "a" lie: fragment 0.
TEST(NcclTrialTest, ADamagedByteIsFoundAndNamed) {
  const std::vector<std::string> said =
      RunTrials(PlanOfOneNode(), [](NcclTrial& trial, RankIndex rank) -> std::string {
        trial.Fill(1);
        const Result<double> seconds = trial.Replay(1, 20s);
        if (!seconds) return ToString(seconds.error());
        if (rank == 2) {
          for (const NamedBuffer& buffer : trial.mirror().DestinationBuffers()) {
            if (buffer.name != "fused") continue;
            std::byte value{};
            cudaMemcpy(&value, buffer.data + 5, 1, cudaMemcpyDeviceToHost);
            value ^= std::byte{1};
            cudaMemcpy(buffer.data + 5, &value, 1, cudaMemcpyHostToDevice);
          }
        }
        const Result<void> right = trial.Check(1);
        return right ? "right" : ToString(right.error());
      });
  EXPECT_THAT(said[2], AllOf(HasSubstr("rank 2: destination parameter fused: byte 5 is 0x"),
                             HasSubstr("fragment 0 (of tensor a) has another content digest")));
  for (const std::size_t other : {0, 1, 3, 4}) {
    EXPECT_THAT(said[other], HasSubstr("its content is right, that of rank 2 is not"));
  }
}

// Rank 0 packs and sends in rounds 0 to 3, rank 4 receives and unpacks in rounds 1 to 4.
TEST(NcclTrialTest, TellsWhenEachStepOfAllRanksRan) {
  std::vector<std::vector<StepTime>> steps(5);
  const std::vector<std::string> said =
      RunTrials(PlanOfOneNode(), [&](NcclTrial& trial, RankIndex rank) -> std::string {
        const Result<void> kept = trial.RecordSteps();
        std::string wrong = kept ? ReplayAndCheck(trial, rank) : ToString(kept.error());
        Result<std::vector<StepTime>> told = trial.StepTimes();
        if (!told) return wrong + ToString(told.error());
        steps[static_cast<std::size_t>(rank)] = *std::move(told);
        return wrong;
      });
  EXPECT_EQ(said, std::vector<std::string>(5));
  std::map<std::pair<RankIndex, Lane>, std::vector<RoundIndex>> rounds;
  std::int64_t first = 1;
  std::int64_t last_end = 0;
  for (const StepTime& step : steps[0]) {
    EXPECT_LE(step.start_ns, step.end_ns);
    EXPECT_LE(last_end, step.end_ns);
    last_end = step.end_ns;
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
  for (const auto& others : steps) EXPECT_TRUE(others == steps[0]);
}

TEST(NcclTrialTest, SaysThatItsRanksSitElsewhere) {
  for (const std::string& said : RunTrials(SmallPlan(), ReplayAndCheck)) {
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
        NcclTrial::Make(plan, static_cast<RankIndex>(r), {id, static_cast<int>(r), 20s, true});
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
  const auto trial = NcclTrial::Make(plan, 0, {*MakeUniqueId(), 99, 1s, true});
  ASSERT_FALSE(trial);
  EXPECT_THAT(ToString(trial.error()), HasSubstr("GPU 99 cannot be used"));
}

}  // namespace
}  // namespace reshard
