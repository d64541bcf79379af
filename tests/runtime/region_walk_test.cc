#include "runtime/region_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using Longs = std::vector<std::int64_t>;
using Piece = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // index, position, count

std::vector<Piece> RunsOf(const Region& region, const Longs& shape) {
  std::vector<Piece> runs;
  const bool ended =
      RegionWalk(region, shape, [&](std::int64_t index, std::int64_t position, std::int64_t count) {
        runs.emplace_back(index, position, count);
        return true;
      }).Run();
  EXPECT_TRUE(ended);
  return runs;
}

// Rows 1 and 2, columns 3 to 4 of [4, 5]: elements 8, 9 and 13, 14. In the parameter rows are 10
// apart from 100 on, and columns follow each other.
TEST(RegionWalkTest, RowsThatLieInOnePieceAreRuns) {
  const Longs begin = {1, 3};
  const Longs extent = {2, 2};
  const Longs stride = {10, 1};
  EXPECT_THAT(RunsOf({0, 0, 100, begin, extent, stride}, {4, 5}),
              ElementsAre(Piece{8, 100, 2}, Piece{13, 110, 2}));
}

// The same box transposed: a run is one element.
TEST(RegionWalkTest, StridedColumnsGoOneByOne) {
  const Longs begin = {1, 3};
  const Longs extent = {2, 2};
  const Longs stride = {1, 10};
  EXPECT_THAT(
      RunsOf({0, 0, 100, begin, extent, stride}, {4, 5}),
      ElementsAre(Piece{8, 100, 1}, Piece{9, 110, 1}, Piece{13, 101, 1}, Piece{14, 111, 1}));
}

TEST(RegionWalkTest, AScalarIsOneElement) {
  EXPECT_THAT(RunsOf({0, 0, 7, {}, {}, {}}, {}), ElementsAre(Piece{0, 7, 1}));
}

TEST(RegionWalkTest, EndsOnceACallSaysSo) {
  const Longs begin = {0, 0};
  const Longs extent = {3, 2};
  const Longs stride = {5, 1};
  int calls = 0;
  EXPECT_FALSE(RegionWalk(Region{0, 0, 0, begin, extent, stride}, Longs{3, 2},
                          [&](std::int64_t, std::int64_t, std::int64_t) { return ++calls < 2; })
                   .Run());
  EXPECT_EQ(calls, 2);
}

TEST(RegionWalkTest, ZerosAreWalkedByTheirPlacesAlone) {
  const Longs begin = {0, 0};
  const Longs extent = {2, 3};
  const Longs stride = {8, 1};
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  EXPECT_TRUE(WalkZeros(Region{kZeroTensor, 0, 4, begin, extent, stride},
                        [&](std::int64_t position, std::int64_t count) {
                          runs.emplace_back(position, count);
                          return true;
                        }));
  EXPECT_THAT(runs, ElementsAre(std::pair(4, 3), std::pair(12, 3)));
}

// Element by element, as the header of regions defines them.
TEST(RegionWalkTest, AgreesWithTheDefinition) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    const auto dims = static_cast<std::size_t>(below(5));
    Longs shape;
    Longs begin;
    Longs extent;
    Longs stride;
    for (std::size_t d = 0; d < dims; ++d) {
      extent.push_back(1 + below(4));
      begin.push_back(below(3));
      shape.push_back(begin.back() + extent.back() + below(3));
      stride.push_back(1 + below(3) * below(40));
    }
    const Region region{0, 0, below(50), begin, extent, stride};
    std::vector<std::pair<std::int64_t, std::int64_t>> expected = {{0, region.offset}};
    for (std::size_t d = 0; d < dims; ++d) {
      std::vector<std::pair<std::int64_t, std::int64_t>> longer;
      for (const auto& [index, position] : expected) {
        for (std::int64_t i = 0; i < extent[d]; ++i) {
          longer.emplace_back(index * shape[d] + begin[d] + i, position + i * stride[d]);
        }
      }
      expected = longer;
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> walked;
    for (const auto& [index, position, count] : RunsOf(region, shape)) {
      for (std::int64_t i = 0; i < count; ++i) walked.emplace_back(index + i, position + i);
    }
    EXPECT_EQ(walked, expected);
  }
}

}  // namespace
}  // namespace reshard
