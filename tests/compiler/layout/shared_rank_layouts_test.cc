#include "compiler/layout/shared_rank_layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;

RankLayout Named(std::int64_t coordinate) {
  RankLayout layout;
  layout.parameters.push_back({std::to_string(coordinate), DType::kBF16, {1}});
  return layout;
}

TEST(SharedRankLayouts, OneForEachPlaceInTheOrderOfRanks) {
  std::vector<std::int64_t> asked;
  const Result<GroupLayout> group = ShareRankLayouts(
      6, [](std::int64_t rank) { return (rank + 2) % 3; },
      [&asked](std::int64_t at) -> Result<RankLayout> {
        asked.push_back(at);
        return Named(at);
      });
  ASSERT_TRUE(group) << ToString(group.error());
  EXPECT_THAT(asked, ElementsAre(2, 0, 1));
  EXPECT_THAT(group->layouts, ElementsAre(Named(2), Named(0), Named(1)));
  EXPECT_THAT(group->layout_of_rank, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(SharedRankLayouts, TheFirstErrorEndsIt) {
  const Result<GroupLayout> group = ShareRankLayouts(
      4, [](std::int64_t rank) { return rank; },
      [](std::int64_t at) -> Result<RankLayout> {
        if (at >= 2) return InputError("rank " + std::to_string(at), "cannot be");
        return Named(at);
      });
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().place, "rank 2");
}

}  // namespace
}  // namespace reshard
