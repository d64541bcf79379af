#include "compiler/planning/shape_search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/planning/lowering.h"

namespace reshard {
namespace {

constexpr std::int64_t kMB = 1'000'000;

// Costs by rounds alone, or by the fullest slot alone.
class OneSidedCostModel final : public CostModel {
 public:
  explicit OneSidedCostModel(bool likes_few_rounds) : likes_few_rounds_(likes_few_rounds) {}
  Result<double> PredictSeconds(const Plan& plan) const override {
    ++asked_;
    if (likes_few_rounds_) return static_cast<double>(plan.round_count);
    return static_cast<double>(StagingBytesMax(plan));
  }
  ChannelFacts Channels() const override { return {13.5, 32, 8}; }
  std::string ConstantsDigest() const override { return "one-sided"; }
  std::int64_t asked() const { return asked_; }

 private:
  bool likes_few_rounds_;
  mutable std::int64_t asked_ = 0;
};

// One class of `bytes` from rank 0 to rank 1, each alone in its domain.
class ShapeSearchTest : public ::testing::Test {
 protected:
  void MakeRefit(std::int64_t bytes) {
    plan_ = {};
    for (std::int32_t r = 0; r < 2; ++r) {
      Rank rank;
      rank.gpu = rank.node = rank.domain = r;
      plan_.job.ranks.push_back(rank);
    }
    plan_.demand.rank_sets = {{0}, {1}};
    DemandClass record;
    record.holders = 0;
    record.needers = 1;
    record.bytes = bytes;
    plan_.demand.classes.push_back(record);
    deliveries_.groups = {{false, {{1, {1}}}, {{0, {0}}}, bytes}};
    routes_ = {};
    routes_.paths.push_back({{{0, 1, kFromSender}}});
    routes_.columns.push_back({0, 0, bytes, 0, 0, 0, 0});
    phases_ = {{0}, {bytes}};
    peak_ = bytes;
  }
  Result<ShapeChoice> Search(const CostModel& cost_model, double enough_seconds = 0) {
    return SearchShapes(cost_model, deliveries_, routes_, phases_, peak_, enough_seconds, plan_);
  }

  Plan plan_;
  Deliveries deliveries_;
  Routes routes_;
  Phases phases_;
  std::int64_t peak_ = 0;
};

TEST_F(ShapeSearchTest, OneRoundWhereRoundsAreWhatCosts) {
  MakeRefit(100 * kMB);
  ASSERT_TRUE(Search(OneSidedCostModel(true)));
  EXPECT_EQ(plan_.round_count, 1);
}

TEST_F(ShapeSearchTest, ManyRoundsWhereSizeIsWhatCosts) {
  MakeRefit(100 * kMB);
  ASSERT_TRUE(Search(OneSidedCostModel(false)));
  EXPECT_GT(plan_.round_count, 100);
}

// Two instances on either end: staging is 2 / rounds of the bytes, so 100 MB within 2 MB take at
// least 100 rounds, and the search does not take many more where every round costs.
TEST_F(ShapeSearchTest, StagingIsKeptWithAsFewRoundsAsItTakes) {
  MakeRefit(100 * kMB);
  plan_.job.options.staging_bytes = 2 * kMB;
  const OneSidedCostModel cost_model(true);
  ASSERT_TRUE(Search(cost_model));
  EXPECT_LE(StagingBytesMax(plan_), 2 * kMB);
  EXPECT_GE(plan_.round_count, 100);
  EXPECT_LE(plan_.round_count, 112);
}

// With so many rounds the fewest are taken if they are good enough, and asked for once.
TEST_F(ShapeSearchTest, WhatIsEnoughIsTakenAsItIs) {
  MakeRefit(100 * kMB);
  plan_.job.options.staging_bytes = 2 * kMB;
  const OneSidedCostModel cost_model(false);
  const Result<ShapeChoice> found = Search(cost_model, 1e9);
  ASSERT_TRUE(found);
  EXPECT_EQ(cost_model.asked(), 1);
  EXPECT_LE(plan_.round_count, 112);
  EXPECT_EQ(found->seconds, static_cast<double>(StagingBytesMax(plan_)));
}

// A shape given is tried as it is, and refused where its chunks do not fit.
TEST_F(ShapeSearchTest, OneShape) {
  MakeRefit(100 * kMB);
  const OneSidedCostModel cost_model(true);
  const auto tried = [&](std::int32_t full) {
    return TryShape(cost_model, deliveries_, routes_, phases_, {1, {full, 2, 70}}, plan_).value();
  };
  ASSERT_TRUE(tried(10));
  EXPECT_EQ(plan_.round_count, 13);
  EXPECT_EQ(tried(10)->seconds, 13);
  plan_.job.options.staging_bytes = 2 * kMB;
  EXPECT_FALSE(tried(10));
  EXPECT_TRUE(tried(200));
}

TEST_F(ShapeSearchTest, ChunksStayBelowTheirCeiling) {
  MakeRefit(100 * kMB);
  plan_.job.options.chunk_bytes = 10 * kMB;
  ASSERT_TRUE(Search(OneSidedCostModel(true)));
  const auto starts = ChunkStarts(plan_.columns[0], plan_.profiles[0]);
  for (std::size_t k = 0; k + 1 < starts.size(); ++k) {
    EXPECT_LE(starts[k + 1] - starts[k], 10 * kMB);
  }
}

TEST_F(ShapeSearchTest, StagingThatNoRoundsFitIsAnError) {
  MakeRefit(100'000 * kMB);
  plan_.job.options.staging_bytes = kMB;
  const Result<ShapeChoice> found = Search(OneSidedCostModel(true));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().place, "options.stagingMiB");
  EXPECT_EQ(found.error().reason, "the refit needs more staging than 0.954 MiB on some rank");
}

}  // namespace
}  // namespace reshard
