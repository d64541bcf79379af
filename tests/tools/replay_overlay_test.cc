#include "tools/replay_overlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reshard {
namespace {

using ::testing::HasSubstr;

Plan SomePlan(std::size_t ranks, RoundIndex rounds) {
  Plan plan;
  plan.job_digest = "ab";
  plan.round_count = rounds;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    plan.job.ranks.emplace_back().gpu = 10 + static_cast<std::int32_t>(rank);
  }
  return plan;
}

// Every rank exchanges for a microsecond in each round.
std::vector<StepTime> Lockstep(RankIndex ranks, RoundIndex rounds, std::int64_t offset_ns) {
  std::vector<StepTime> steps;
  for (RankIndex rank = 0; rank < ranks; ++rank) {
    for (RoundIndex round = 0; round < rounds; ++round) {
      const std::int64_t start = offset_ns + 1000 * std::int64_t{round};
      steps.push_back({rank, Lane::kExchange, round, start, start + 1000});
    }
  }
  return steps;
}

// Rank 1 begins rounds 1 and 2 late, by 500 and by 200 ns, and its last step lasts twice as long.
TEST(ReplayOverlayTest, TheLateRankIsFirst) {
  const Plan plan = SomePlan(3, 3);
  TraceSteps measured{"measured", "ab", Lockstep(3, 3, 7000)};
  for (StepTime& step : measured.steps) {
    if (step.rank != 1) continue;
    if (step.round == 1) step.start_ns += 500;
    if (step.round == 2) {
      step.start_ns += 200;
      step.end_ns += 1200;
    }
  }
  const Result<ReplayOverlay> overlay = MakeOverlay(plan, Lockstep(3, 3, 0), measured, "m.json");
  ASSERT_TRUE(overlay) << ToString(overlay.error());
  EXPECT_DOUBLE_EQ(overlay->end.predicted, 3e-6);
  EXPECT_DOUBLE_EQ(overlay->end.measured, 4.2e-6);

  const LaneOverlay& exchange = overlay->lanes[1];
  EXPECT_EQ(exchange.predicted_steps, 9);
  EXPECT_EQ(exchange.measured_steps, 9);
  EXPECT_DOUBLE_EQ(exchange.mean_step.predicted, 1e-6);
  EXPECT_DOUBLE_EQ(exchange.mean_step.measured, (9e-6 - 0.5e-6 + 1e-6) / 9);
  EXPECT_EQ(overlay->lanes[0].measured_steps, 0);

  ASSERT_EQ(overlay->rounds.size(), 3U);
  EXPECT_DOUBLE_EQ(overlay->rounds[1].longest[1].measured, 1e-6);
  EXPECT_DOUBLE_EQ(overlay->rounds[2].longest[1].measured, 2e-6);
  EXPECT_DOUBLE_EQ(overlay->rounds[2].longest[1].predicted, 1e-6);

  EXPECT_EQ(overlay->ranks[0].rank, 1);
  EXPECT_DOUBLE_EQ(overlay->ranks[0].late_seconds, 0.7e-6);
  EXPECT_DOUBLE_EQ(overlay->ranks[0].busy[1].measured, 0.5e-6 + 1e-6 + 2e-6);
  EXPECT_EQ(overlay->ranks[1].rank, 0);
  EXPECT_EQ(overlay->ranks[1].late_seconds, 0);

  const std::string text = OverlayText(*overlay, plan);
  EXPECT_THAT(text, HasSubstr("1.4x"));
  EXPECT_THAT(text, HasSubstr("0.700 us"));
}

TEST(ReplayOverlayTest, OfManyRoundsTheWorstAreShown) {
  const Plan plan = SomePlan(2, 100);
  TraceSteps measured{"measured", "ab", Lockstep(2, 100, 0)};
  for (StepTime& step : measured.steps) step.end_ns += step.round % 4 == 3 ? 10 * step.round : 0;
  const Result<ReplayOverlay> overlay = MakeOverlay(plan, Lockstep(2, 100, 0), measured, "m.json");
  ASSERT_TRUE(overlay);
  const OverlayTable rounds = OverlayTables(*overlay, plan)[1];
  EXPECT_THAT(rounds.title, HasSubstr("those 24 of 100 rounds"));
  ASSERT_EQ(rounds.table.rows().size(), 24U);
  EXPECT_EQ(rounds.table.rows().front()[0], "7");  // of 3, 7, 11, .. 99 the 24 longest
  EXPECT_EQ(rounds.table.rows().back()[0], "99");
}

TEST(ReplayOverlayTest, WhatIsOfAnotherPlanIsRefused) {
  const Plan plan = SomePlan(2, 2);
  const auto refused = [&](TraceSteps measured, const std::string& reason) {
    const Result<ReplayOverlay> overlay = MakeOverlay(plan, Lockstep(2, 2, 0), measured, "m.json");
    ASSERT_FALSE(overlay);
    EXPECT_THAT(ToString(overlay.error()), HasSubstr(reason));
    EXPECT_EQ(overlay.error().place, "m.json");
  };
  refused({"measured", "cd", Lockstep(2, 2, 0)}, "of job cd, the plan of job ab");
  refused({"measured", "ab", {}}, "no steps");
  refused({"measured", "ab", Lockstep(3, 2, 0)}, "round 0 of rank 2");
  refused({"measured", "ab", Lockstep(2, 3, 0)}, "round 2 of rank 0");
}

}  // namespace
}  // namespace reshard
