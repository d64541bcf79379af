// Ranks that die, come late or never, and communicators that do not stop: every survivor says so
// within the deadline and a second, and nothing that may still be written to is freed.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/doubles/controls.h"
#include "tests/doubles/nccl_world.h"
#include "tests/runtime/nccl/gpu_team.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using namespace std::chrono_literals;
using doubles::Controls;
using doubles::LiveObjects;

constexpr auto kDeadline = 100ms;

class NcclFailureTest : public ::testing::Test {
 protected:
  ~NcclFailureTest() override { doubles::SetControls(usual_); }

  // All ranks but `dead` wait. Each one that does not install must say where it was, in time, and
  // replay no more. Returns those.
  static std::set<RankIndex> WaitOfSurvivors(GpuTeam& team, RankIndex dead) {
    std::vector<RankIndex> survivors = team.ranks();
    std::erase(survivors, dead);
    std::set<RankIndex> failed;
    for (const auto& [rank, error] : team.WaitFor(kDeadline, survivors)) {
      if (!error) continue;
      failed.insert(rank);
      EXPECT_EQ(error->fault, Fault::kRun);
      EXPECT_THAT(ToString(*error),
                  AllOf(HasSubstr("rank " + std::to_string(rank) + ": round "),
                        AnyOf(HasSubstr("waited for rank"), HasSubstr("its own last steps"))));
      EXPECT_EQ(ToString(team.engine(rank).state()), "failed(maybe mutated)");
      EXPECT_FALSE(team.engine(rank).Replay(3));
    }
    EXPECT_LT(team.longest_wait(), kDeadline + 1s);
    return failed;
  }

  const Controls usual_ = doubles::GetControls();
};

// C20: before, during and after every round and inside the commit. SmallPlan has five rounds; rank
// 2 receives, relays and stands in the commit, rank 0 is every byte's source.
TEST_F(NcclFailureTest, ADeathAtAnyPointIsNoticedInTime) {
  for (const RankIndex dead : {0, 2}) {
    int groups = 0;
    int deaths = 0;
    for (;; ++groups) {
      bool ended = true;
      for (const int operations : {0, 1}) {
        SCOPED_TRACE("rank " + std::to_string(dead) + " dies in group " + std::to_string(groups) +
                     " after " + std::to_string(operations) + " operations");
        GpuTeam team(SmallPlan());
        team.PrepareAll();
        team.Refit(1);
        doubles::KillRank(team.communicator(dead).handle(), groups, operations);
        team.Fill(2);
        team.Start(2);
        const std::set<RankIndex> failed = WaitOfSurvivors(team, dead);
        if (failed.empty()) continue;
        ++deaths;
        ended = false;
        // Whoever installed the version has it, whole.
        for (const RankIndex rank : team.ranks()) {
          if (rank == dead || failed.count(rank) > 0) continue;
          EXPECT_EQ(ToString(team.engine(rank).state()), "installed(2)");
          EXPECT_TRUE(team.mirror(rank)->Check(2));
        }
      }
      if (HasFailure()) return;
      if (ended) break;
    }
    // Exchange rounds, then the commit: up and down the tree of each side.
    EXPECT_GE(groups, 5) << dead;
    EXPECT_GE(deaths, 2 * groups - 1) << dead;
  }
}

// C16: a rank that leaves out one operation, or sends another number of bytes than its peer
// expects.
TEST_F(NcclFailureTest, AnOperationThatHasNoOtherEndIsNoticedInTime) {
  using Alter = std::function<void(LoweredRank&)>;
  struct Case {
    std::string what;
    RankIndex rank;
    Alter alter;
    RankIndex peer;  // who waits for it
    RoundIndex round;
  };
  const std::vector<Case> cases = {
      {"a send left out", 0,
       [](LoweredRank& work) { work.rounds[1].sends.erase(work.rounds[1].sends.begin()); }, 2, 2},
      {"a receive left out", 2, [](LoweredRank& work) { work.rounds[2].receives.clear(); }, 0, 2},
      {"a shorter send", 2, [](LoweredRank& work) { work.rounds[3].sends[0].bytes -= 1; }, 1, 3},
      {"a shorter receive", 4, [](LoweredRank& work) { work.rounds[4].receives[0].bytes -= 1; }, 3,
       4},
  };
  for (const Case& wrong : cases) {
    SCOPED_TRACE(wrong.what);
    GpuTeamOptions options;
    options.other_work[wrong.rank] = wrong.alter;
    GpuTeam team(SmallPlan(), options);
    team.PrepareAll();
    team.Fill(1);
    team.Start(1);
    const std::set<RankIndex> failed = WaitOfSurvivors(team, -1);
    // No rank of the destination has the version; rank 0 is of the source alone, which may be done.
    for (const RankIndex rank : {1, 2, 3, 4}) EXPECT_EQ(failed.count(rank), 1u) << rank;
    const DeadlineMiss& miss = team.engine(wrong.peer).deadline_miss();
    EXPECT_EQ(miss.round, wrong.round);
    EXPECT_THAT(miss.peers, Contains(wrong.rank));
    if (HasFailure()) return;
  }
}

TEST_F(NcclFailureTest, NamesRoundAndPeersItWaitedFor) {
  GpuTeam team(SmallPlan());
  team.PrepareAll();
  doubles::KillRank(team.communicator(0).handle(), 2);  // its third group is that of round 2
  team.Fill(1);
  team.Start(1);
  const auto results = team.WaitFor(kDeadline, {2});
  ASSERT_TRUE(results.at(2));
  // Rank 2 receives from rank 0 and relays to rank 1.
  EXPECT_THAT(ToString(*results.at(2)),
              HasSubstr("rank 2: round 2 of version 1 was not over after 0.1 s: it waited for "
                        "ranks 0, 1 in its exchange"));
  EXPECT_EQ(team.engine(2).deadline_miss().round, 2);
  EXPECT_EQ(team.engine(2).deadline_miss().peers, std::vector<RankIndex>({0, 1}));
}

TEST_F(NcclFailureTest, ARankThatIsOnlySlowIsWaitedFor) {
  GpuTeam team(SmallPlan());
  team.PrepareAll();
  doubles::SlowDown(team.communicator(0).handle(), 10ms);
  team.Refit(1, 10s);
  // Slower than the deadline: the survivors give up, in time.
  doubles::SlowDown(team.communicator(0).handle(), 200ms);
  team.Fill(2);
  team.Start(2);
  EXPECT_FALSE(WaitOfSurvivors(team, 0).empty());
}

TEST_F(NcclFailureTest, ARankThatNeverComesFailsPrepare) {
  GpuTeamOptions options;
  options.nccl.prepare_deadline = kDeadline;
  options.missing = {3};
  GpuTeam team(SmallPlan(), options);
  const auto start = std::chrono::steady_clock::now();
  const std::map<RankIndex, Error> failures = team.Prepare();
  EXPECT_LT(std::chrono::steady_clock::now() - start, kDeadline + 1s);
  EXPECT_EQ(failures.size(), 4u);
  for (const auto& [rank, error] : failures) {
    EXPECT_THAT(ToString(error), HasSubstr("not all peers have come"));
  }
}

// Rank 0 comes, and dies while ranks compare where they sit: what they wait for uses their memory
// until it has been stopped.
TEST_F(NcclFailureTest, ADeathInPrepareStopsWhatUsesMemory) {
  const doubles::Live before = LiveObjects();
  {
    GpuTeamOptions options;
    options.nccl.prepare_deadline = kDeadline;
    options.on_communicator = [](Communicator& communicator) {
      if (communicator.rank() == 0) doubles::KillRank(communicator.handle(), 0);
    };
    GpuTeam team(SmallPlan(), options);
    const auto start = std::chrono::steady_clock::now();
    const std::map<RankIndex, Error> failures = team.Prepare();
    EXPECT_LT(std::chrono::steady_clock::now() - start, kDeadline + 1s);
    EXPECT_EQ(failures.size(), 5u);
    for (const auto& [rank, error] : failures) {
      EXPECT_THAT(ToString(error), HasSubstr("the placement of all ranks was not over in time"));
      EXPECT_TRUE(team.communicator(rank).is_stopped());
    }
  }
  EXPECT_TRUE(LiveObjects() == before);
}

TEST_F(NcclFailureTest, AStoppedCommunicatorIsOfNoUse) {
  GpuTeam team(SmallPlan());
  team.PrepareAll();
  auto backend =
      NcclBackend::Make(ExtractRankPart(team.plan(), 0), team.shared_communicator(0), {});
  ASSERT_TRUE(backend);
  EXPECT_TRUE(team.communicator(0).Stop(1s));
  const std::string wanted = "its communicator was stopped after a failure";
  EXPECT_THAT(ToString((*backend)->Prepare({}, {}, "").error()), HasSubstr(wanted));
  EXPECT_THAT(ToString(team.engine(0).Replay(1).error()), HasSubstr(wanted));
  EXPECT_EQ(ToString(team.engine(0).state()), "failed(maybe mutated)");
  const auto another =
      NcclBackend::Make(ExtractRankPart(team.plan(), 0), team.shared_communicator(0), {});
  ASSERT_FALSE(another);
  EXPECT_THAT(ToString(another.error()), HasSubstr(wanted));
}

TEST_F(NcclFailureTest, AnErrorThatNcclNoticesEndsTheWaitAtOnce) {
  GpuTeam team(SmallPlan());
  team.PrepareAll();
  doubles::KillRank(team.communicator(0).handle(), 1);
  team.Fill(1);
  team.Start(1);
  doubles::FailAsynchronously(team.communicator(2).handle(), ncclRemoteError);
  const auto results = team.WaitFor(60s, {2});
  EXPECT_LT(team.longest_wait(), 10s);
  ASSERT_TRUE(results.at(2));
  EXPECT_THAT(ToString(*results.at(2)), AllOf(HasSubstr("remote process exited"),
                                              HasSubstr("it was in round"), HasSubstr("failed(")));
}

// C22: a refit that failed half way is never called installed, and a whole new team on the same
// memory goes on in the same process.
TEST_F(NcclFailureTest, ARebuildInTheSameProcessWorks) {
  const doubles::Live before = LiveObjects();
  {
    std::map<RankIndex, std::shared_ptr<DeviceMirror>> mirrors;
    {
      GpuTeam team(SmallPlan());
      team.PrepareAll();
      team.Refit(1);
      doubles::KillRank(team.communicator(2).handle(), 3);
      team.Fill(2);
      team.Start(2);
      EXPECT_FALSE(WaitOfSurvivors(team, 2).empty());
      for (const RankIndex rank : team.ranks()) mirrors[rank] = team.mirror(rank);
    }
    GpuTeamOptions options;
    options.mirrors = mirrors;
    GpuTeam rebuilt(SmallPlan(), options);
    rebuilt.PrepareAll();
    rebuilt.Refit(3);
  }
  EXPECT_TRUE(LiveObjects() == before);
}

TEST_F(NcclFailureTest, AStopThatHangsAbandonsAndNeverFrees) {
  std::map<RankIndex, std::shared_ptr<DeviceMirror>> mirrors;
  doubles::Live before;
  {
    GpuTeam team(SmallPlan());
    team.PrepareAll();
    team.Refit(1);
    doubles::KillRank(team.communicator(0).handle(), 2);
    Controls controls = usual_;
    controls.abort_hangs = true;
    doubles::SetControls(controls);
    team.Fill(2);
    team.Start(2);
    before = LiveObjects();
    for (const auto& [rank, error] : team.WaitFor(kDeadline)) {
      if (!error) continue;
      EXPECT_THAT(ToString(*error), HasSubstr("failed(abandoned)"));
      EXPECT_EQ(ToString(team.engine(rank).state()), "failed(abandoned)");
      EXPECT_FALSE(team.engine(rank).Replay(3));
    }
    EXPECT_LT(team.longest_wait(), kDeadline + 1s);
    EXPECT_EQ(ToString(team.engine(2).state()), "failed(abandoned)");
    for (const RankIndex rank : team.ranks()) mirrors[rank] = team.mirror(rank);
  }
  // Engines and backends are gone; graphs, communicators, streams and staging are not.
  const doubles::Live after = LiveObjects();
  EXPECT_EQ(after.communicators, before.communicators);
  EXPECT_EQ(after.executable_graphs, before.executable_graphs);
  EXPECT_EQ(after.streams, before.streams);
  EXPECT_EQ(after.device_bytes, before.device_bytes);
  doubles::SetControls(usual_);
  {
    // The same addresses: refused.
    GpuTeamOptions options;
    options.nccl.prepare_deadline = kDeadline;
    options.mirrors = mirrors;
    GpuTeam rebuilt(SmallPlan(), options);
    const std::map<RankIndex, Error> failures = rebuilt.Prepare();
    ASSERT_EQ(failures.size(), 5u);
    EXPECT_THAT(ToString(failures.at(2)), HasSubstr("restart the process"));
  }
  // New ones: allowed.
  GpuTeam rebuilt(SmallPlan());
  rebuilt.PrepareAll();
  rebuilt.Refit(1);
}

}  // namespace
}  // namespace reshard
