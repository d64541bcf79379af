#include "runtime/step_gathering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;

// Three ranks, of which the second did nothing, with clocks of their own: what each tells is
// collected first, then each is told the minima.
TEST(StepGatheringTest, EveryRankGetsTheStepsOfAll) {
  const std::vector<std::vector<StepTime>> own = {
      {{0, Lane::kPack, 0, 1000, 1030}, {0, Lane::kExchange, 0, 1030, 1200}},
      {},
      {{2, Lane::kUnpack, 7, 510, 520}}};
  const std::vector<std::int64_t> zeros = {990, 0, 400};
  std::vector<std::vector<std::uint64_t>> minima;
  for (int pass = 0; pass < 3; ++pass) {
    for (RankIndex rank = 0; rank < 3; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      std::size_t question = 0;
      const auto minimum = [&](std::span<std::uint64_t> values, const std::string&) {
        if (question == minima.size()) minima.emplace_back(values.begin(), values.end());
        std::vector<std::uint64_t>& all = minima[question++];
        if (all.size() != values.size()) all.assign(values.size(), ~std::uint64_t{0});
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = all[i] = std::min(all[i], values[i]);
        }
        return Result<void>();
      };
      const auto steps = GatherSteps(own[r], zeros[r], rank, 3, minimum);
      ASSERT_TRUE(steps);
      if (pass < 2) continue;
      // From zero: pack 10..40, exchange 40..210, unpack 110..120; from the first start 10 less.
      EXPECT_THAT(*steps, ElementsAre(StepTime{0, Lane::kPack, 0, 0, 30},
                                      StepTime{2, Lane::kUnpack, 7, 100, 110},
                                      StepTime{0, Lane::kExchange, 0, 30, 200}));
    }
    // What was asked before all had told how many steps they have was of another size.
    if (pass == 0) minima.resize(1);
  }
}

TEST(StepGatheringTest, WhatCannotBeGatheredIsAnError) {
  const auto fail = [](std::span<std::uint64_t>, const std::string& what) -> Result<void> {
    return RunError("rank 0", what);
  };
  EXPECT_FALSE(GatherSteps({}, 0, 0, 1, fail));
}

TEST(StepGatheringTest, NoStepsAreNone) { EXPECT_TRUE(FromFirstStart({}).empty()); }

}  // namespace
}  // namespace reshard
