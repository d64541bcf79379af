#include "runtime/host_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "runtime/trial_replay.h"
#include "tests/runtime/rank_team.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr auto kDeadline = 200ms;
constexpr auto kPromised = kDeadline + 1s;

std::string Message(const Result<void>& result) {
  return result ? "fine" : ToString(result.error());
}

void ExpectRefit(TrialReplay& trial, std::uint64_t refit) {
  trial.Fill(refit);
  const Result<double> seconds = trial.Replay(refit, 10s);
  ASSERT_TRUE(seconds) << ToString(seconds.error());
  ASSERT_EQ(Message(trial.Check(refit)), "fine");
}

TEST(HostBackendTest, ReplaysTheSmallPlan) {
  const Plan plan = SmallPlan();
  TrialReplay trial = *TrialReplay::Make(plan, {});
  ExpectRefit(trial, 1);
  EXPECT_EQ(ToString(trial.engine(4).state()), "installed(1)");
}

TEST(HostBackendTest, ReplaysInPlace) {
  const Plan plan = SmallInPlacePlan();
  TrialReplay trial = *TrialReplay::Make(plan, {});
  ExpectRefit(trial, 1);
  ExpectRefit(trial, 2);
}

// Case: two refits in a row over the same staging, the second with other values; 1000 refits.
TEST(HostBackendTest, ReplaysAThousandTimesWithOtherValues) {
  const Plan plan = SmallPlan();
  TrialReplay trial = *TrialReplay::Make(plan, {});
  for (std::uint64_t refit = 1; refit <= 1000; ++refit) ExpectRefit(trial, refit);
}

TEST(HostBackendTest, ReplaysRightInAnyOrderThePlanAllows) {
  const Plan plan = SmallPlan();
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TrialReplay trial = *TrialReplay::Make(plan, {0, seed});
    ExpectRefit(trial, 1);
    ExpectRefit(trial, 2);
  }
}

// The same seed gives the same bytes, right or wrong.
TEST(HostBackendTest, ASeedRepeatsItsOrder) {
  Plan plan = SmallPlan();
  plan.schedules[0].waits.clear();
  std::vector<std::string> messages[2];
  for (std::vector<std::string>& list : messages) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      TrialReplay trial = *TrialReplay::Make(plan, {0, seed});
      trial.Fill(1);
      ASSERT_TRUE(trial.Replay(1, 10s));
      trial.Fill(2);
      ASSERT_TRUE(trial.Replay(2, 10s));
      list.push_back(Message(trial.Check(2)));
    }
  }
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_THAT(messages[0], ::testing::Contains(HasSubstr("should be")));
}

// No wait of the small plan is there for nothing: without any one of them some order gives wrong
// bytes, and seeded orders find it.
TEST(HostBackendTest, EveryWaitOfTheSmallPlanIsNeeded) {
  const Plan whole = SmallPlan();
  for (std::size_t rank = 0; rank < whole.schedules.size(); ++rank) {
    for (std::size_t wait = 0; wait < whole.schedules[rank].waits.size(); ++wait) {
      Plan plan = whole;
      plan.schedules[rank].waits.erase(plan.schedules[rank].waits.begin() +
                                       static_cast<std::ptrdiff_t>(wait));
      bool found = false;
      for (std::uint64_t seed = 0; seed < 2000 && !found; ++seed) {
        TrialReplay trial = *TrialReplay::Make(plan, {0, seed});
        // The first refit leaves staging full of old values, which the second must not deliver.
        trial.Fill(1);
        ASSERT_TRUE(trial.Replay(1, 10s));
        trial.Fill(2);
        ASSERT_TRUE(trial.Replay(2, 10s));
        found = !trial.Check(2).has_value();
      }
      EXPECT_TRUE(found) << "rank " << rank << " without wait " << wait;
    }
  }
}

// Case: a rank that never joins. Rank 0 misses it in round 0; rank 2 is served in round 0 and then
// waits for rank 0, which is stuck.
TEST(HostBackendTest, AMissingRankIsNamedByThoseWhoWaitForIt) {
  TeamOptions options;
  options.missing = {3};
  RankTeam team(SmallPlan(), options);
  team.Fill(1);
  team.Start(1);
  const auto start = std::chrono::steady_clock::now();
  const auto results = team.WaitForAll(kDeadline);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPromised);
  ASSERT_TRUE(results.at(0));
  EXPECT_EQ(results.at(0)->fault, Fault::kRun);
  EXPECT_THAT(ToString(*results.at(0)),
              AllOf(HasSubstr("rank 0: round 0 of version 1 was not over after 0.2 s"),
                    HasSubstr("it waited for rank 3;")));
  EXPECT_THAT(team.engine(0).deadline_miss().peers, ElementsAre(3));
  ASSERT_TRUE(results.at(4));
  EXPECT_THAT(ToString(*results.at(4)), AllOf(HasSubstr("round 1"), HasSubstr("rank 3")));
  ASSERT_TRUE(results.at(2));
  EXPECT_THAT(ToString(*results.at(2)), AllOf(HasSubstr("round 1"), HasSubstr("rank 0")));
  EXPECT_EQ(ToString(team.engine(2).state()), "failed(maybe mutated)");
}

// Case: a rank dies before each round. Rank 3 receives from rank 0 in rounds 0..3 and sends to rank
// 4 in rounds 1..4.
TEST(HostBackendTest, ARankThatDiesBeforeARoundIsNamed) {
  for (RoundIndex round = 0; round < 5; ++round) {
    SCOPED_TRACE("dies before round " + std::to_string(round));
    TeamOptions options;
    options.altered[3] = [round](LoweredRank& rank) {
      rank.rounds.resize(static_cast<std::size_t>(round));
    };
    RankTeam team(SmallPlan(), options);
    team.Fill(1);
    team.Start(1);
    const auto start = std::chrono::steady_clock::now();
    const auto results = team.WaitForAll(kDeadline);
    EXPECT_LT(std::chrono::steady_clock::now() - start, kPromised);
    EXPECT_EQ(results.at(0).has_value(), round < 4);
    if (round < 4) {
      EXPECT_EQ(team.engine(0).deadline_miss().round, round);
      EXPECT_THAT(team.engine(0).deadline_miss().peers, ElementsAre(3));
    }
    ASSERT_TRUE(results.at(4));
    EXPECT_EQ(team.engine(4).deadline_miss().round, std::max(round, 1));
    EXPECT_THAT(team.engine(4).deadline_miss().peers, ElementsAre(3));
  }
}

// Case: a send of n bytes against a receive of m.
TEST(HostBackendTest, OtherSizesAreAnErrorOnBothEnds) {
  TeamOptions options;
  options.altered[3] = [](LoweredRank& rank) { rank.rounds[2].receives[0].bytes = 8; };
  RankTeam team(SmallPlan(), options);
  team.Fill(1);
  team.Start(1);
  const auto results = team.WaitForAll(kDeadline);
  for (const RankIndex rank : {0, 3}) {
    ASSERT_TRUE(results.at(rank));
    EXPECT_THAT(ToString(*results.at(rank)),
                HasSubstr("rank 0 sends 16 bytes in round 2 of version 1, rank 3 receives 8 bytes "
                          "in round 2 of version 1"));
  }
}

// Case: a send without a receive.
TEST(HostBackendTest, ASkippedReceiveIsWaitedForUntilTheDeadline) {
  TeamOptions options;
  options.altered[2] = [](LoweredRank& rank) { rank.rounds[3].receives.clear(); };
  RankTeam team(SmallPlan(), options);
  team.Fill(1);
  team.Start(1);
  const auto results = team.WaitForAll(kDeadline);
  ASSERT_TRUE(results.at(0));
  EXPECT_EQ(team.engine(0).deadline_miss().round, 3);
  EXPECT_THAT(team.engine(0).deadline_miss().peers, ElementsAre(2));
}

TEST(HostBackendTest, AnotherVersionIsAnError) {
  RankTeam team(SmallPlan());
  team.Fill(1);
  for (const RankIndex rank : {0, 1, 2, 3, 4}) {
    ASSERT_TRUE(team.engine(rank).Replay(rank == 3 ? 9 : 8));
  }
  const auto results = team.WaitForAll(kDeadline);
  ASSERT_TRUE(results.at(0));
  EXPECT_THAT(ToString(*results.at(0)), AllOf(HasSubstr("version 8"), HasSubstr("version 9")));
}

TEST(HostBackendTest, APlanOfAnotherJobIsRefused) {
  const Plan plan = SmallPlan();
  const auto exchange = *HostExchange::Make(5, {});
  TrialMemory first_memory = *TrialMemory::Make(plan.job, 3);
  TrialMemory second_memory = *TrialMemory::Make(plan.job, 4);
  Engine first = *Engine::Open(ExtractRankPart(plan, 3), MakeHostBackend(exchange, 3));
  ASSERT_TRUE(first.Bind(first_memory.SourceBuffers(), first_memory.DestinationBuffers()));
  RankPart part = ExtractRankPart(plan, 4);
  part.job_digest = "ffff";
  Engine second = *Engine::Open(part, MakeHostBackend(exchange, 4));
  EXPECT_THAT(
      Message(second.Bind(second_memory.SourceBuffers(), second_memory.DestinationBuffers())),
      AllOf(HasSubstr("ffff"), HasSubstr("load the same plan on every rank")));
}

TEST(HostBackendTest, EachRankJoinsOnce) {
  const Plan plan = SmallPlan();
  const auto exchange = *HostExchange::Make(5, {});
  TrialMemory memory = *TrialMemory::Make(plan.job, 4);
  Engine first = *Engine::Open(ExtractRankPart(plan, 4), MakeHostBackend(exchange, 4));
  ASSERT_TRUE(first.Bind(memory.SourceBuffers(), memory.DestinationBuffers()));
  Engine second = *Engine::Open(ExtractRankPart(plan, 4), MakeHostBackend(exchange, 4));
  EXPECT_THAT(Message(second.Bind(memory.SourceBuffers(), memory.DestinationBuffers())),
              HasSubstr("has joined already"));
}

// A wait that no step can fulfil is a fault of the plan, and says so.
TEST(HostBackendTest, AWaitForALaterStepIsReported) {
  TeamOptions options;
  options.altered[4] = [](LoweredRank& rank) {
    rank.waits.push_back({Lane::kExchange, Lane::kUnpack, 0});
  };
  RankTeam team(SmallPlan(), options);
  team.Fill(1);
  team.Start(1);
  const auto results = team.WaitForAll(kDeadline);
  ASSERT_TRUE(results.at(4));
  EXPECT_THAT(ToString(*results.at(4)), HasSubstr("no step may start"));
}

}  // namespace
}  // namespace reshard
