#include "runtime/nccl/commit_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "kernels/cuda/commit_kernels.h"

namespace reshard {
namespace {

// Every rank but the first has one parent that counts it among its children, and all hang together:
// with n - 1 edges that makes a tree.
TEST(CommitTreeTest, IsATreeOverAnySide) {
  for (const std::size_t size : {1u, 2u, 8u, 9u, 10u, 73u, 74u, 1000u}) {
    std::vector<RankIndex> side;
    for (std::size_t i = 0; i < size; ++i) side.push_back(static_cast<RankIndex>(3 * i + 5));
    std::map<RankIndex, CommitPlace> places;
    for (const RankIndex rank : side) places[rank] = FindCommitPlace(side, rank);
    std::size_t edges = 0;
    for (const auto& [rank, place] : places) {
      EXPECT_LE(place.children.size(), static_cast<std::size_t>(kCommitChildren));
      EXPECT_TRUE(std::is_sorted(place.children.begin(), place.children.end()));
      edges += place.children.size();
      for (const RankIndex child : place.children) EXPECT_EQ(places.at(child).parent, rank);
      EXPECT_EQ(place.parent.has_value(), rank != side.front());
      std::size_t depth = 0;
      for (auto up = place.parent; up; up = places.at(*up).parent) ++depth;
      EXPECT_LE(depth, 4u);  // 8^4 ranks and more
    }
    EXPECT_EQ(edges, size - 1);
  }
}

}  // namespace
}  // namespace reshard
