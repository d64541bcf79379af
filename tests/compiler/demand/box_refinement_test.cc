#include "compiler/demand/box_refinement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using Longs = std::vector<std::int64_t>;

struct Box {
  Longs begin;
  Longs extent;
};

std::vector<Region> RegionsOf(const std::vector<Box>& boxes) {
  std::vector<Region> regions;
  for (const Box& box : boxes) regions.push_back({0, 0, 0, box.begin, box.extent, box.extent});
  return regions;
}

// Rows 0 to 3 and 2 to 5 of six: two rows of the first, two of both, two of the second.
TEST(BoxRefinementTest, OverlapsAreBoxesOfTheirOwn) {
  const std::vector<Box> boxes = {{{0}, {4}}, {{2}, {4}}};
  BoxRefinement refinement;
  ASSERT_TRUE(refinement.Cut(RegionsOf(boxes), 1));
  ASSERT_EQ(refinement.boxes().size(), 3U);
  const BoxRefinement::Box& both = refinement.boxes()[1];
  EXPECT_EQ(refinement.Begin(both, 0), 2);
  EXPECT_EQ(refinement.End(both, 0), 4);
  EXPECT_THAT(refinement.CoversOf(both), ElementsAre(0, 1));
  EXPECT_THAT(refinement.CoversOf(refinement.boxes()[2]), ElementsAre(1));
}

TEST(BoxRefinementTest, AScalarIsOneBox) {
  const std::vector<Box> boxes(2);
  BoxRefinement refinement;
  ASSERT_TRUE(refinement.Cut(RegionsOf(boxes), 0));
  ASSERT_EQ(refinement.boxes().size(), 1U);
  EXPECT_THAT(refinement.CoversOf(refinement.boxes()[0]), ElementsAre(0, 1));
}

// 20,000 by 20,000 cut points.
TEST(BoxRefinementTest, MoreCellsThanMemoryIsRefused) {
  std::vector<Box> boxes;
  for (std::int64_t i = 0; i < 20'000; ++i) boxes.push_back({{i, i}, {1, 1}});
  BoxRefinement refinement;
  EXPECT_FALSE(refinement.Cut(RegionsOf(boxes), 2));
}

// Each element lies in as many boxes as it should, one or none, with the regions that contain it.
TEST(BoxRefinementTest, AgreesWithEveryElement) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    const auto dims = static_cast<std::size_t>(1 + below(3));
    std::vector<Box> boxes(static_cast<std::size_t>(1 + below(5)));
    for (Box& box : boxes) {
      for (std::size_t k = 0; k < dims; ++k) {
        box.begin.push_back(below(5));
        box.extent.push_back(1 + below(4));
      }
    }
    const auto elements_of = [dims](const Longs& begin, const Longs& end) {
      std::vector<Longs> elements = {{}};
      for (std::size_t k = 0; k < dims; ++k) {
        std::vector<Longs> longer;
        for (const Longs& element : elements) {
          for (std::int64_t at = begin[k]; at < end[k]; ++at) {
            longer.push_back(element);
            longer.back().push_back(at);
          }
        }
        elements = longer;
      }
      return elements;
    };
    std::map<Longs, std::vector<std::int32_t>> expected;
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      Longs end = boxes[b].begin;
      for (std::size_t k = 0; k < dims; ++k) end[k] += boxes[b].extent[k];
      for (const Longs& element : elements_of(boxes[b].begin, end)) {
        expected[element].push_back(static_cast<std::int32_t>(b));
      }
    }
    BoxRefinement refinement;
    ASSERT_TRUE(refinement.Cut(RegionsOf(boxes), dims));
    std::map<Longs, std::vector<std::int32_t>> found;
    for (const BoxRefinement::Box& box : refinement.boxes()) {
      Longs begin;
      Longs end;
      for (std::size_t k = 0; k < dims; ++k) {
        begin.push_back(refinement.Begin(box, k));
        end.push_back(refinement.End(box, k));
      }
      const auto covers = refinement.CoversOf(box);
      for (const Longs& element : elements_of(begin, end)) {
        EXPECT_TRUE(found.emplace(element, std::vector(covers.begin(), covers.end())).second);
      }
    }
    EXPECT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace reshard
