#include "runtime/nccl/nccl_backend.h"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cuda/commit_kernels.h"
#include "tests/doubles/controls.h"
#include "tests/doubles/device_memory.h"
#include "tests/runtime/nccl/gpu_team.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;
using doubles::Calls;
using doubles::CallsOfThisThread;
using doubles::Controls;
using doubles::LiveObjects;

class NcclBackendTest : public ::testing::Test {
 protected:
  ~NcclBackendTest() override {
    doubles::SetControls(usual_);
    EXPECT_TRUE(LiveObjects() == before_);
  }
  void SetSeed(std::uint64_t seed) {
    Controls controls = usual_;
    controls.seed = seed;
    controls.polls_in_progress = static_cast<int>(seed % 3);
    doubles::SetControls(controls);
  }
  const doubles::Live before_ = LiveObjects();
  const Controls usual_ = doubles::GetControls();
};

TEST_F(NcclBackendTest, InstallsEveryByteInAnyOrderThatTheGraphAllows) {
  for (const bool in_place : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      SetSeed(seed);
      GpuTeam team(in_place ? SmallInPlacePlan() : SmallPlan());
      team.PrepareAll();
      for (std::uint64_t refit = 1; refit <= 5; ++refit) team.Refit(refit);
      EXPECT_EQ(ToString(team.engine(2).state()), "installed(5)");
      if (HasFailure()) return;
    }
  }
}

TEST_F(NcclBackendTest, EagerModeInstallsEveryByte) {
  GpuTeamOptions options;
  options.nccl.eager = true;
  GpuTeam team(SmallPlan(), options);
  team.PrepareAll();
  for (std::uint64_t refit = 1; refit <= 20; ++refit) team.Refit(refit);
}

TEST_F(NcclBackendTest, AReplayIsOneLaunchAndNothingElse) {
  GpuTeam team(SmallPlan());
  team.PrepareAll();
  for (std::uint64_t refit = 1; refit <= 3; ++refit) {
    team.Fill(refit);
    for (const RankIndex rank : team.ranks()) {
      CallsOfThisThread() = {};
      ASSERT_TRUE(team.engine(rank).Replay(refit));
      Calls wanted;
      wanted.graph_launches = 1;
      EXPECT_TRUE(CallsOfThisThread() == wanted) << rank;
    }
    for (const RankIndex rank : team.ranks()) {
      CallsOfThisThread() = {};
      ASSERT_TRUE(team.engine(rank).WaitFor(10s));
      EXPECT_EQ(CallsOfThisThread().allocations, 0);
      EXPECT_EQ(CallsOfThisThread().synchronizations, 0);
    }
  }
}

// Timed or not, a replay is one launch; in eager mode steps are timed as well.
TEST_F(NcclBackendTest, TellsWhenStepsRanWhereThatIsWanted) {
  for (const bool eager : {false, true}) {
    GpuTeamOptions options;
    options.nccl.eager = eager;
    GpuTeam team(SmallPlan(), options);
    team.PrepareAll();
    team.Refit(1);
    EXPECT_TRUE(team.engine(3).StepTimes().empty());
    for (const RankIndex rank : team.ranks()) ASSERT_TRUE(team.engine(rank).RecordSteps());
    for (std::uint64_t refit = 2; refit <= 4; ++refit) {
      const auto before = std::chrono::steady_clock::now().time_since_epoch();
      team.Refit(refit);
      const auto after = std::chrono::steady_clock::now().time_since_epoch();
      // Rank 3 receives in rounds 0 to 3, unpacks, packs and sends in 1 to 4.
      const std::vector<StepTime> steps = team.engine(3).StepTimes();
      EXPECT_EQ(steps.size(), 4u + 4u + 5u);
      for (const StepTime& step : steps) {
        EXPECT_EQ(step.rank, 3);
        EXPECT_GE(step.start_ns, std::chrono::nanoseconds(before).count());
        EXPECT_GE(step.end_ns, step.start_ns);
        EXPECT_LE(step.end_ns, std::chrono::nanoseconds(after).count());
      }
    }
  }
  GpuTeam team(SmallPlan());
  team.PrepareAll();
  ASSERT_TRUE(team.engine(0).RecordSteps());
  CallsOfThisThread() = {};
  ASSERT_TRUE(team.engine(0).Replay(1));
  Calls wanted;
  wanted.graph_launches = 1;
  EXPECT_TRUE(CallsOfThisThread() == wanted);
}

// C21: the same staging again and again, other values every time.
TEST_F(NcclBackendTest, AThousandRefitsLeakNothing) {
  GpuTeam team(SmallPlan());
  team.PrepareAll();
  team.Refit(1);
  const doubles::Live live = LiveObjects();
  for (std::uint64_t refit = 2; refit <= 1000; ++refit) {
    if (refit % 100 == 0) {
      team.Refit(refit);
      continue;
    }
    team.Start(refit);
    for (const RankIndex rank : team.ranks()) ASSERT_TRUE(team.engine(rank).WaitFor(60s));
  }
  EXPECT_TRUE(LiveObjects() == live);
  EXPECT_EQ(ToString(team.engine(0).state()), "installed(1000)");
}

TEST_F(NcclBackendTest, UsesStagingAndStreamOfTheCaller) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  void* staging = nullptr;
  ASSERT_EQ(cudaMalloc(&staging, 256), cudaSuccess);
  {
    GpuTeamOptions options;
    options.other_options[0] = [&](NcclOptions& nccl) {
      nccl.stream = stream;
      nccl.staging = static_cast<std::byte*>(staging);
      nccl.staging_bytes = 256;
    };
    GpuTeam team(SmallPlan(), options);
    team.PrepareAll();
    team.Refit(1);
  }
  // What was put on the stream before a refit is over before it begins.
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaFree(staging), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(NcclBackendTest, RefusesTooLittleStaging) {
  GpuTeamOptions options;
  options.nccl.prepare_deadline = 300ms;
  options.other_options[0] = [&](NcclOptions& nccl) {
    nccl.staging = reinterpret_cast<std::byte*>(256);
    nccl.staging_bytes = 159;  // rank 0 needs 160
  };
  GpuTeam team(SmallPlan(), options);
  const std::map<RankIndex, Error> failures = team.Prepare();
  ASSERT_EQ(failures.size(), 5u);
  EXPECT_THAT(ToString(failures.at(0)), HasSubstr("159 bytes of staging"));
  EXPECT_THAT(ToString(failures.at(1)), HasSubstr("not all peers have come"));
}

TEST_F(NcclBackendTest, SaysWhatThereIsNoMemoryFor) {
  GpuTeamOptions options;
  options.nccl.prepare_deadline = 300ms;
  GpuTeam team(SmallPlan(), options);
  Controls controls = usual_;
  controls.device_bytes = LiveObjects().device_bytes;
  doubles::SetControls(controls);
  const std::map<RankIndex, Error> failures = team.Prepare();
  ASSERT_EQ(failures.size(), 5u);
  EXPECT_THAT(ToString(failures.at(0)),
              AllOf(HasSubstr("no device memory for 160 bytes of staging"),
                    HasSubstr("out of memory"), HasSubstr("stagingMiB")));
}

TEST_F(NcclBackendTest, TheSourceIsReleasedInEveryRefit) {
  GpuTeam team(SmallPlan());
  team.PrepareAll();
  for (std::uint64_t refit = 1; refit <= 3; ++refit) {
    team.Fill(refit);
    team.Start(refit);
    // Ranks 2, 3, 4 hold nothing: their event means only that the refit has begun.
    for (const RankIndex rank : team.ranks()) {
      EXPECT_EQ(cudaEventSynchronize(team.backend(rank).source_released()), cudaSuccess);
    }
    for (const auto& [rank, error] : team.WaitFor(10s)) EXPECT_FALSE(error) << ToString(*error);
    team.Check(refit);
  }
}

// Overwrites the source as soon as the event allows it: what is installed must be what it held.
TEST_F(NcclBackendTest, TheTrainerMayGoOnOnceTheSourceIsReleased) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SetSeed(seed);
    cudaStream_t training = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&training, cudaStreamNonBlocking), cudaSuccess);
    GpuTeam team(SmallPlan());
    team.PrepareAll();
    team.Fill(1);
    team.Start(1);
    ASSERT_EQ(cudaStreamWaitEvent(training, team.backend(0).source_released(), 0), cudaSuccess);
    for (const NamedBuffer& buffer : team.mirror(0)->SourceBuffers()) {
      ASSERT_EQ(cudaMemsetAsync(buffer.data, 0, static_cast<std::size_t>(buffer.bytes), training),
                cudaSuccess);
    }
    for (const auto& [rank, error] : team.WaitFor(10s)) EXPECT_FALSE(error) << ToString(*error);
    ASSERT_EQ(cudaStreamSynchronize(training), cudaSuccess);
    ASSERT_EQ(cudaStreamDestroy(training), cudaSuccess);
    for (const RankIndex rank : {1, 2, 3, 4}) {
      const Result<void> right = team.mirror(rank)->Check(1);
      EXPECT_TRUE(right) << ToString(right.error());
    }
    if (HasFailure()) return;
  }
}

TEST_F(NcclBackendTest, RecomputesAfterInstallAndBeforeTheCommit) {
  int calls = 0;
  std::byte* installed = nullptr;
  void* derived = nullptr;
  ASSERT_EQ(cudaMalloc(&derived, 16), cudaSuccess);
  {
    GpuTeamOptions options;
    options.other_options[4] = [&](NcclOptions& nccl) {
      nccl.recompute = [&](CUstream_st* stream) -> Result<void> {
        ++calls;
        EXPECT_EQ(cudaMemcpyAsync(derived, installed, 16, cudaMemcpyDeviceToDevice, stream),
                  cudaSuccess);
        return {};
      };
    };
    GpuTeam team(SmallPlan(), options);
    installed = team.mirror(4)->DestinationBuffers()[0].data;
    team.PrepareAll();
    std::vector<std::byte> want(16);
    std::vector<std::byte> got(16);
    for (std::uint64_t refit = 1; refit <= 3; ++refit) {
      team.Refit(refit);
      cudaMemcpy(want.data(), installed, 16, cudaMemcpyDeviceToHost);
      cudaMemcpy(got.data(), derived, 16, cudaMemcpyDeviceToHost);
      EXPECT_EQ(got, want);
    }
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(cudaFree(derived), cudaSuccess);
}

// Rank 4's recomputation takes longer than its peers wait: none of them has the version, and they
// say that it is the commit in which they wait.
TEST_F(NcclBackendTest, NobodyHasTheVersionBeforeTheRecomputationIsOver) {
  static std::atomic<bool> may_end;
  may_end = false;
  GpuTeamOptions options;
  options.other_options[4] = [](NcclOptions& nccl) {
    nccl.recompute = [](CUstream_st* stream) -> Result<void> {
      const auto wait = [](void*) {
        while (!may_end) std::this_thread::sleep_for(1ms);
      };
      EXPECT_EQ(cudaLaunchHostFunc(stream, wait, nullptr), cudaSuccess);
      return {};
    };
  };
  {
    GpuTeam team(SmallPlan(), options);
    team.PrepareAll();
    team.Fill(1);
    team.Start(1);
    for (const auto& [rank, error] : team.WaitFor(200ms, {1, 2, 3})) {
      ASSERT_TRUE(error) << rank;
      EXPECT_THAT(ToString(*error), HasSubstr(" in the commit"));
    }
    may_end = true;
  }
}

// Without a graph anything goes, at every refit.
TEST_F(NcclBackendTest, EagerModeRecomputesAtEveryRefit) {
  int calls = 0;
  GpuTeamOptions options;
  options.nccl.eager = true;
  options.other_options[3] = [&](NcclOptions& nccl) {
    nccl.recompute = [&](CUstream_st*) -> Result<void> {
      ++calls;
      void* memory = nullptr;
      EXPECT_EQ(cudaMalloc(&memory, 16), cudaSuccess);
      EXPECT_EQ(cudaFree(memory), cudaSuccess);
      return {};
    };
  };
  GpuTeam team(SmallPlan(), options);
  team.PrepareAll();
  for (std::uint64_t refit = 1; refit <= 3; ++refit) team.Refit(refit);
  EXPECT_EQ(calls, 3);
}

TEST_F(NcclBackendTest, GivesUpARefitOnDemand) {
  GpuTeam team(SmallPlan());
  team.PrepareAll();
  team.engine(0).Abort();  // nothing runs
  EXPECT_EQ(ToString(team.engine(0).state()), "idle");
  ASSERT_TRUE(team.engine(0).Replay(1));
  team.engine(0).Abort();
  EXPECT_EQ(ToString(team.engine(0).state()), "failed(maybe mutated)");
  EXPECT_FALSE(team.engine(0).Replay(2));
}

// C12: a group beyond what NCCL is known to end with is refused, whatever made the plan.
TEST_F(NcclBackendTest, RefusesAGroupOfTooManyOperations) {
  GpuTeamOptions options;
  options.nccl.prepare_deadline = 300ms;
  options.other_work[0] = [](LoweredRank& work) {
    work.rounds[2].sends.resize(8193, work.rounds[2].sends.front());
  };
  GpuTeam team(SmallPlan(), options);
  const std::map<RankIndex, Error> failures = team.Prepare();
  EXPECT_THAT(ToString(failures.at(0)),
              AllOf(HasSubstr("round 2 has 8193 operations"), HasSubstr("maxOpsPerGroup")));
}

TEST_F(NcclBackendTest, ARecomputationThatCannotBeCapturedNamesEagerMode) {
  GpuTeamOptions options;
  options.nccl.prepare_deadline = 300ms;
  options.nccl.recompute = [](CUstream_st*) -> Result<void> {
    void* memory = nullptr;
    static_cast<void>(cudaMalloc(&memory, 16));
    return {};
  };
  GpuTeam team(SmallPlan(), options);
  const std::map<RankIndex, Error> failures = team.Prepare();
  ASSERT_EQ(failures.size(), 5u);
  for (const auto& [rank, error] : failures) {
    EXPECT_THAT(ToString(error), AllOf(HasSubstr("recomputation"), HasSubstr("eager mode")));
  }
}

// C16: ranks that loaded different plan files.
TEST_F(NcclBackendTest, RefusesRanksOfOtherPlans) {
  GpuTeamOptions options;
  options.other_part[3] = [](RankPart& part) { part.job_digest = std::string(32, '0'); };
  GpuTeam team(SmallPlan(), options);
  const std::map<RankIndex, Error> failures = team.Prepare();
  ASSERT_EQ(failures.size(), 5u);
  for (const auto& [rank, error] : failures) {
    EXPECT_THAT(ToString(error), HasSubstr("rank 3: its plan is of job 00000000"));
  }
}

TEST_F(NcclBackendTest, RefusesARankThatSitsElsewhereUnlessToldNotTo) {
  GpuTeamOptions options;
  const Plan plan = SmallPlan();
  options.other_options[2] = [&](NcclOptions& nccl) {
    nccl.machine->fabric_clique = PlannedMachine(plan.job, 0).fabric_clique;
    nccl.machine->host = PlannedMachine(plan.job, 0).host;
  };
  {
    GpuTeam team(plan, options);
    const std::map<RankIndex, Error> failures = team.Prepare();
    ASSERT_EQ(failures.size(), 5u);
    EXPECT_THAT(ToString(failures.at(4)), HasSubstr("rank 2: sits elsewhere"));
  }
  options.nccl.checks_placement = false;
  GpuTeam team(plan, options);
  team.PrepareAll();
  team.Refit(1);
}

TEST_F(NcclBackendTest, RefusesACommunicatorOfAnotherSize) {
  CommunicatorOptions options;
  options.id = *MakeUniqueId();
  options.rank_count = 1;
  const auto communicator = Communicator::Make(options);
  ASSERT_TRUE(communicator);
  const auto backend = NcclBackend::Make(ExtractRankPart(SmallPlan(), 0), *communicator, {});
  ASSERT_FALSE(backend);
  EXPECT_THAT(ToString(backend.error()), HasSubstr("of rank 0 of 1"));
}

TEST_F(NcclBackendTest, BindsAgainOnTheSameCommunicator) {
  GpuTeam team(SmallPlan());
  team.PrepareAll();
  team.Refit(1);
  EXPECT_TRUE(team.Rebind().empty());
  EXPECT_EQ(ToString(team.engine(0).state()), "idle");
  team.Refit(2);
}

// A rank that has counted one refit more than the others of its side.
TEST_F(NcclBackendTest, UnequalRefitCountsFailTheCommit) {
  // The source is ranks 0 and 1, the destination ranks 1 to 4: a side fails as a whole. Which rank
  // a device address is of changes from run to run.
  const std::set<std::set<RankIndex>> sides = {{0, 1}, {0, 1, 2, 3, 4}, {1, 2, 3, 4}};
  const std::vector<void*> others = doubles::AllocationsOf(sizeof(CommitState));  // abandoned
  for (std::size_t stray = 0; stray < 5; ++stray) {
    GpuTeam team(SmallPlan());
    team.PrepareAll();
    team.Refit(1);
    std::vector<void*> states = doubles::AllocationsOf(sizeof(CommitState));
    std::erase_if(states, [&](void* state) {
      return std::find(others.begin(), others.end(), state) != others.end();
    });
    ASSERT_EQ(states.size(), 5u);
    std::uint64_t count = 0;  // CommitState::own.refit
    cudaMemcpy(&count, states[stray], sizeof(count), cudaMemcpyDeviceToHost);
    ASSERT_EQ(count, 1u);
    count = 2;
    cudaMemcpy(states[stray], &count, sizeof(count), cudaMemcpyHostToDevice);
    team.Fill(2);
    team.Start(2);
    std::set<RankIndex> failed;
    for (const auto& [rank, error] : team.WaitFor(10s)) {
      if (!error) continue;
      failed.insert(rank);
      EXPECT_THAT(ToString(*error), HasSubstr("equally many refits"));
      EXPECT_EQ(ToString(team.engine(rank).state()), "failed(maybe mutated)");
      EXPECT_FALSE(team.engine(rank).Replay(3));
    }
    EXPECT_EQ(sides.count(failed), 1u) << ::testing::PrintToString(failed);
  }
}

}  // namespace
}  // namespace reshard
