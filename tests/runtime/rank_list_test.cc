#include "runtime/rank_list.h"

#include <gtest/gtest.h>

#include <array>

namespace reshard {
namespace {

TEST(RankListTest, OneAndSeveral) {
  EXPECT_EQ(RankList(std::array<RankIndex, 1>{3}), "rank 3");
  EXPECT_EQ(RankList(std::array<RankIndex, 3>{1, 2, 10}), "ranks 1, 2, 10");
}

}  // namespace
}  // namespace reshard
