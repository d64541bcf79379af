#include "runtime/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/runtime/rank_team.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// What a FakeBackend does and what was asked of it.
struct FakeBehaviour {
  Result<void> started;
  Result<ReplayProgress> progress = ReplayProgress::kDone;
  StopResult stop = StopResult::kStopped;
  int starts = 0;
  int stops = 0;
  bool destroyed = false;
  Backend* backend = nullptr;
};

class FakeBackend final : public Backend {
 public:
  explicit FakeBackend(FakeBehaviour& behaviour) : behaviour_(behaviour) {
    behaviour_.backend = this;
  }
  ~FakeBackend() override { behaviour_.destroyed = true; }
  Result<std::byte*> AllocateStaging(std::int64_t bytes) override {
    staging_.resize(static_cast<std::size_t>(bytes));
    return staging_.data();
  }
  Result<void> Prepare(LoweredRank, std::vector<std::byte*>, const std::string&) override {
    return {};
  }
  Result<void> Start(std::uint64_t) override {
    ++behaviour_.starts;
    return behaviour_.started;
  }
  Result<ReplayProgress> WaitFor(std::chrono::nanoseconds) override { return behaviour_.progress; }
  ReplayStatus Status() const override { return {4, {1, 3}, "ranks 1, 3"}; }
  StopResult Stop(std::chrono::nanoseconds) override {
    ++behaviour_.stops;
    return behaviour_.stop;
  }

 private:
  FakeBehaviour& behaviour_;
  std::vector<std::byte> staging_;
};

class EngineTest : public ::testing::Test {
 protected:
  Engine Open() {
    return *Engine::Open(ExtractRankPart(plan_, 2), std::make_unique<FakeBackend>(fake_));
  }
  Engine OpenAndBind() {
    Engine engine = Open();
    EXPECT_TRUE(engine.Bind(memory_.SourceBuffers(), memory_.DestinationBuffers()));
    return engine;
  }

  Plan plan_ = SmallPlan();
  TrialMemory memory_ = *TrialMemory::Make(plan_.job, 2);
  FakeBehaviour fake_;
};

TEST_F(EngineTest, GoesThroughItsStates) {
  Engine engine = OpenAndBind();
  EXPECT_EQ(ToString(engine.state()), "idle");
  ASSERT_TRUE(engine.Replay(7));
  EXPECT_EQ(ToString(engine.state()), "running");
  ASSERT_TRUE(engine.WaitFor(1s));
  EXPECT_EQ(ToString(engine.state()), "installed(7)");
  ASSERT_TRUE(engine.Replay(8));
  ASSERT_TRUE(engine.WaitFor(1s));
  EXPECT_EQ(ToString(engine.state()), "installed(8)");
  EXPECT_EQ(fake_.starts, 2);
  EXPECT_EQ(fake_.stops, 0);
}

TEST_F(EngineTest, RefusesCallsOutOfOrder) {
  Engine engine = Open();
  EXPECT_THAT(ToString(engine.Replay(1).error()), HasSubstr("call Bind first"));
  ASSERT_TRUE(engine.Bind(memory_.SourceBuffers(), memory_.DestinationBuffers()));
  EXPECT_THAT(ToString(engine.WaitFor(1s).error()), HasSubstr("call Replay first"));
  ASSERT_TRUE(engine.Replay(1));
  EXPECT_THAT(ToString(engine.Replay(2).error()), HasSubstr("call WaitFor first"));
  EXPECT_EQ(engine.state().version, 1u);
  EXPECT_FALSE(engine.Bind(memory_.SourceBuffers(), memory_.DestinationBuffers()));
}

TEST_F(EngineTest, ADeadlineNamesRoundAndPeersAndEndsTheEngine) {
  Engine engine = OpenAndBind();
  fake_.progress = ReplayProgress::kRunning;
  ASSERT_TRUE(engine.Replay(5));
  const Result<void> ended = engine.WaitFor(2s);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().fault, Fault::kRun);
  EXPECT_THAT(ToString(ended.error()),
              AllOf(HasSubstr("rank 2: round 4 of version 5 was not over after 2 s"),
                    HasSubstr("ranks 1, 3"), HasSubstr("failed(maybe mutated)")));
  EXPECT_EQ(engine.deadline_miss().round, 4);
  EXPECT_THAT(engine.deadline_miss().peers, ElementsAre(1, 3));
  EXPECT_EQ(fake_.stops, 1);
  EXPECT_THAT(ToString(engine.Replay(6).error()), HasSubstr("open a new engine"));
  EXPECT_EQ(engine.state().version, 5u);  // a failed replay advances nothing
}

TEST_F(EngineTest, KeepsTheErrorOfItsBackend) {
  Engine engine = OpenAndBind();
  fake_.progress = RunError("rank 2", "cable unplugged");
  ASSERT_TRUE(engine.Replay(5));
  const Result<void> ended = engine.WaitFor(2s);
  ASSERT_FALSE(ended);
  EXPECT_THAT(ToString(ended.error()), HasSubstr("cable unplugged; failed(maybe mutated)"));
}

TEST_F(EngineTest, AReplayThatDoesNotStartMayHaveBegunToWrite) {
  Engine engine = OpenAndBind();
  fake_.started = RunError("rank 2", "no stream to be had");
  const Result<void> started = engine.Replay(5);
  ASSERT_FALSE(started);
  EXPECT_THAT(ToString(started.error()), HasSubstr("no stream to be had; failed(maybe mutated)"));
  EXPECT_EQ(fake_.stops, 1);
  EXPECT_FALSE(engine.Replay(6));
}

TEST_F(EngineTest, ABackendThatDoesNotStopIsAbandonedNotFreed) {
  {
    Engine engine = OpenAndBind();
    fake_.progress = ReplayProgress::kRunning;
    fake_.stop = StopResult::kAbandoned;
    ASSERT_TRUE(engine.Replay(5));
    const Result<void> ended = engine.WaitFor(1ms);
    ASSERT_FALSE(ended);
    EXPECT_EQ(ToString(engine.state()), "failed(abandoned)");
    EXPECT_FALSE(engine.Replay(6));
  }
  ASSERT_FALSE(fake_.destroyed);
  delete fake_.backend;  // nobody else will: that is what abandoned means
}

TEST_F(EngineTest, StopsWhatRunsWhenItEnds) {
  {
    Engine engine = OpenAndBind();
    ASSERT_TRUE(engine.Replay(5));
    const Engine moved = std::move(engine);
  }
  EXPECT_EQ(fake_.stops, 1);
  EXPECT_TRUE(fake_.destroyed);
}

TEST_F(EngineTest, RefusesADamagedPart) {
  RankPart part = ExtractRankPart(plan_, 2);
  part.sends[0].peer = 77;
  const Result<Engine> engine = Engine::Open(std::move(part), std::make_unique<FakeBackend>(fake_));
  ASSERT_FALSE(engine);
  EXPECT_THAT(ToString(engine.error()), AllOf(HasSubstr("rank 2"), HasSubstr("no peer")));
}

}  // namespace
}  // namespace reshard
