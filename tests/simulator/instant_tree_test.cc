#include "simulator/instant_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace reshard {
namespace {

TEST(InstantTreeTest, IsNeverAtFirst) {
  EXPECT_EQ(InstantTree(0).Earliest(), kNever);
  EXPECT_EQ(InstantTree(5).Earliest(), kNever);
}

// Against a plain vector, over thousands of random changes.
TEST(InstantTreeTest, KnowsTheFirstOfTheEarliest) {
  std::mt19937_64 random(7);
  for (const std::size_t size : {1, 2, 3, 8, 13, 64, 65, 600}) {
    InstantTree tree(size);
    std::vector<Nanoseconds> plain(size, kNever);
    for (int i = 0; i < 2000; ++i) {
      const std::size_t entry = random() % size;
      plain[entry] = random() % 4 == 0 ? kNever : static_cast<Nanoseconds>(random() % 10);
      tree.Set(static_cast<std::int32_t>(entry), plain[entry]);
      const auto first = std::min_element(plain.begin(), plain.end());
      ASSERT_EQ(tree.Earliest(), *first);
      ASSERT_EQ(tree[static_cast<std::int32_t>(entry)], plain[entry]);
      if (*first == kNever) continue;
      ASSERT_EQ(tree.First(), first - plain.begin());
    }
  }
}

}  // namespace
}  // namespace reshard
