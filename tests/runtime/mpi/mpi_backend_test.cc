// Ranks that do not do what the plan says: C16 and C20 to C22 of the cases from the field, between
// processes. What a killed process does to the others is tested by tests/tools/mpi_replay_test.py.
#include "runtime/mpi/mpi_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "runtime/engine.h"
#include "runtime/trial_content.h"
#include "tests/runtime/altered_backend.h"
#include "tests/runtime/mpi/ranks.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kShort{1};
constexpr std::chrono::seconds kLong{60};

class MpiBackendTest : public ::testing::Test {
 protected:
  // This rank's engine; `alter` changes what it has to do, `digest` the job it thinks its plan is
  // of.
  Result<void> Open(const std::function<void(LoweredRank&)>& alter = {},
                    const std::string& digest = "") {
    memory_.emplace(*TrialMemory::Make(plan_.job, rank()));
    Result<std::unique_ptr<Backend>> backend = MakeMpiBackend(TheWorld());
    if (!backend) return tl::unexpected(backend.error());
    if (alter) *backend = std::make_unique<AlteredBackend>(*std::move(backend), alter);
    RankPart part = ExtractRankPart(plan_, rank());
    if (!digest.empty()) part.job_digest = digest;
    Result<Engine> engine = Engine::Open(std::move(part), *std::move(backend));
    if (!engine) return tl::unexpected(engine.error());
    engine_.emplace(*std::move(engine));
    return engine_->Bind(memory_->SourceBuffers(), memory_->DestinationBuffers());
  }
  // What a replay of `version` said; nothing if it installed.
  std::optional<Error> Replay(std::uint64_t version, std::chrono::nanoseconds deadline) {
    memory_->Fill(version);
    Result<void> done = engine_->Replay(version);
    if (done) done = engine_->WaitFor(deadline);
    return done ? std::nullopt : std::optional(done.error());
  }
  RankIndex rank() const { return TheWorld().rank(); }
  void TearDown() override { Meet(); }

  Plan plan_ = SmallPlan();
  std::optional<TrialMemory> memory_;
  std::optional<Engine> engine_;
};

TEST_F(MpiBackendTest, ManyRefitsInARowEachWithItsOwnValues) {
  ASSERT_TRUE(Open());
  for (std::uint64_t version = 1; version <= 50; ++version) {
    const std::optional<Error> error = Replay(version, kLong);
    ASSERT_FALSE(error) << ToString(*error);
    EXPECT_EQ(engine_->state(), (EngineState{EnginePhase::kInstalled, version}));
    const Result<void> right = memory_->Check(version);
    ASSERT_TRUE(right) << ToString(right.error());
  }
}

TEST_F(MpiBackendTest, PlansOfDifferentJobsAreRefusedOnEveryRank) {
  const Result<void> opened = Open({}, rank() == 2 ? "0123456789abcdef0123456789abcdef" : "");
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().reason, HasSubstr("not every rank's is"));
}

TEST_F(MpiBackendTest, VersionsThatDifferAreNotInstalled) {
  ASSERT_TRUE(Open());
  const std::optional<Error> error = Replay(rank() == 4 ? 8 : 7, kShort);
  ASSERT_TRUE(error);
  EXPECT_NE(engine_->state().phase, EnginePhase::kInstalled);
  // Rank 4 is a leaf under rank 1: that one sees both versions.
  if (rank() == 1) {
    EXPECT_THAT(error->reason, HasSubstr("rank 4 commits version 8, this rank 7"));
  }
}

TEST_F(MpiBackendTest, ARankThatNeverStartsIsNamedByThoseThatWaitForIt) {
  ASSERT_TRUE(Open());
  if (rank() != 2) {
    const std::optional<Error> error = Replay(1, kShort);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->fault, Fault::kRun);
    EXPECT_THAT(error->reason, HasSubstr("round"));
    // Rank 2 relays to rank 1; nobody commits without it.
    if (rank() == 1) {
      EXPECT_THAT(engine_->deadline_miss().peers, Contains(2));
    }
    // The next refit is refused, not installed on top of half of this one.
    const Result<void> next = engine_->Replay(2);
    ASSERT_FALSE(next);
    EXPECT_THAT(next.error().reason, HasSubstr("failed"));
  }
}

TEST_F(MpiBackendTest, ASendThatIsLeftOutIsMissedByItsReceiver) {
  const auto leave_out = [](LoweredRank& lowered) { lowered.rounds[1].sends.clear(); };
  ASSERT_TRUE(Open(rank() == 0 ? std::function<void(LoweredRank&)>(leave_out) : nullptr));
  const std::optional<Error> error = Replay(1, kShort);
  ASSERT_TRUE(error);
  EXPECT_NE(engine_->state().phase, EnginePhase::kInstalled);
}

TEST_F(MpiBackendTest, ASendOfAnotherSizeIsAnErrorOfItsReceiver) {
  const auto cut = [](LoweredRank& lowered) { lowered.rounds[0].sends.front().bytes -= 1; };
  ASSERT_TRUE(Open(rank() == 0 ? std::function<void(LoweredRank&)>(cut) : nullptr));
  const std::optional<Error> error = Replay(1, kShort);
  ASSERT_TRUE(error);
  if (rank() == 2) {
    EXPECT_THAT(error->reason, HasSubstr("rank 0 sent"));
  }
}

}  // namespace
}  // namespace reshard
