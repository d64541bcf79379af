#include "topology/importers/nvlink_islands.h"

#include <gtest/gtest.h>

#include <random>

namespace reshard {
namespace {

using Links = std::vector<std::pair<std::int32_t, std::int32_t>>;
using Islands = std::vector<std::int32_t>;

TEST(NvlinkIslandsTest, GpusWithoutLinksStandAlone) {
  EXPECT_EQ(NvlinkIslands(3, 3, {}), (Islands{0, 1, 2}));
}

TEST(NvlinkIslandsTest, SwitchesJoinGpusAndAreNotCounted) {
  EXPECT_EQ(NvlinkIslands(4, 6, Links{{0, 5}, {2, 5}, {1, 4}, {3, 4}}), (Islands{0, 1, 0, 1}));
}

// Oracle: reachability by closing the relation until nothing changes.
TEST(NvlinkIslandsTest, EqualsTransitiveClosure) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::int32_t gpus = 1 + static_cast<std::int32_t>(random() % 7);
    const std::int32_t vertices = gpus + static_cast<std::int32_t>(random() % 3);
    Links links;
    for (std::uint32_t i = 0; i < random() % 8; ++i) {
      links.emplace_back(random() % vertices, random() % vertices);
    }
    std::vector<std::vector<bool>> reach(vertices, std::vector<bool>(vertices, false));
    for (std::int32_t v = 0; v < vertices; ++v) reach[v][v] = true;
    for (const auto& [a, b] : links) reach[a][b] = reach[b][a] = true;
    for (std::int32_t k = 0; k < vertices; ++k) {
      for (std::int32_t a = 0; a < vertices; ++a) {
        for (std::int32_t b = 0; b < vertices; ++b) {
          if (reach[a][k] && reach[k][b]) reach[a][b] = true;
        }
      }
    }
    const Islands islands = NvlinkIslands(gpus, vertices, links);
    std::int32_t next = 0;
    for (std::int32_t a = 0; a < gpus; ++a) {
      for (std::int32_t b = 0; b < gpus; ++b) EXPECT_EQ(islands[a] == islands[b], reach[a][b]);
      EXPECT_LE(islands[a], next);
      if (islands[a] == next) ++next;
    }
  }
}

}  // namespace
}  // namespace reshard
