#include "compiler/layout/region_overlap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

using List = std::vector<std::int64_t>;

// A layout of one parameter and regions given as offset, extents, strides.
struct Shape {
  std::int64_t offset;
  List extent;
  List stride;
};

RankLayout LayoutOfShapes(const std::vector<Shape>& shapes) {
  RankLayout layout;
  layout.parameters.push_back({"p", DType::kU8, {std::int64_t{1} << 40}});
  for (const Shape& shape : shapes) {
    const List begin(shape.extent.size(), 0);
    layout.regions.Add({0, 0, shape.offset, begin, shape.extent, shape.stride});
  }
  return layout;
}

bool Overlaps(const std::vector<Shape>& shapes) {
  const auto overlap = FindOverlap(LayoutOfShapes(shapes));
  EXPECT_TRUE(overlap.has_value());
  return overlap && overlap->has_value();
}

TEST(RegionOverlapTest, RunsSideBySideDoNotOverlap) {
  EXPECT_FALSE(Overlaps({{0, {4}, {1}}, {4, {4}, {1}}}));
  EXPECT_TRUE(Overlaps({{0, {5}, {1}}, {4, {4}, {1}}}));
}

TEST(RegionOverlapTest, InterleavedRowsDoNotOverlap) {
  // Rows of 2 in a parameter of 3 x 4: columns 0-1 and 2-3.
  EXPECT_FALSE(Overlaps({{0, {3, 2}, {4, 1}}, {2, {3, 2}, {4, 1}}}));
  EXPECT_TRUE(Overlaps({{0, {3, 3}, {4, 1}}, {2, {3, 2}, {4, 1}}}));
  // Every other element against every third of 0, 2, 4, ..: 0 meets 0.
  EXPECT_FALSE(Overlaps({{0, {10}, {2}}, {1, {5}, {2}}}));
  EXPECT_TRUE(Overlaps({{0, {10}, {2}}, {3, {5}, {3}}}));  // 6 is in both
}

TEST(RegionOverlapTest, OtherParametersDoNotMeet) {
  RankLayout layout = LayoutOfShapes({{0, {4}, {1}}});
  layout.parameters.push_back({"q", DType::kU8, {4}});
  const List begin = {0};
  const List extent = {4};
  const List stride = {1};
  layout.regions.Add({0, 1, 0, begin, extent, stride});
  EXPECT_FALSE(FindOverlap(layout)->has_value());
}

TEST(RegionOverlapTest, ThePairIsNamed) {
  const auto overlap = FindOverlap(LayoutOfShapes({{8, {4}, {1}}, {0, {4}, {1}}, {11, {1}, {1}}}));
  ASSERT_TRUE(overlap->has_value());
  EXPECT_EQ((*overlap)->first, 0);
  EXPECT_EQ((*overlap)->second, 2);
}

// 40,000 columns of 1000 rows: each spans nearly the whole parameter, so that all pairs of spans
// touch (800 million); one extra element meets one of them.
TEST(RegionOverlapTest, ManyColumnsTakeNoTime) {
  constexpr std::int64_t kColumns = 40000;
  std::vector<Shape> shapes;
  for (std::int64_t c = 0; c < kColumns; ++c) shapes.push_back({c, {1000}, {kColumns}});
  EXPECT_FALSE(Overlaps(shapes));
  shapes.push_back({kColumns * 500 + 17, {1}, {1}});
  EXPECT_TRUE(Overlaps(shapes));
}

TEST(RegionOverlapTest, NestedStrides) {
  const auto nested = [](const List& extent, const List& stride) {
    const List begin(extent.size(), 0);
    return NestedStrides({0, 0, 0, begin, extent, stride});
  };
  EXPECT_TRUE(nested({}, {}));
  EXPECT_TRUE(nested({3, 4}, {4, 1}));
  EXPECT_TRUE(nested({4, 3}, {1, 4}));
  EXPECT_TRUE(nested({1, 4}, {1, 1}));
  EXPECT_FALSE(nested({2, 2}, {1, 1}));
  EXPECT_FALSE(nested({3, 4}, {3, 1}));
}

// The oracle writes every element down.
TEST(RegionOverlapTest, EqualsWritingEveryElementDown) {
  int overlapping = 0;
  int disjoint = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    std::vector<Shape> shapes;
    const std::int64_t room = pick(0, 1) == 0 ? 40 : 400;
    for (std::int64_t n = pick(2, 4); n-- > 0;) {
      Shape shape{pick(0, room), {}, {}};
      // Dims from inside out, each stepping over what is inside it, with or without a gap.
      std::int64_t reach = 1;
      for (std::int64_t d = pick(0, 3); d-- > 0;) {
        shape.extent.push_back(pick(1, 4));
        shape.stride.push_back(reach * pick(1, 2) + pick(0, 1));
        reach = shape.stride.back() * (shape.extent.back() - 1) + reach;
      }
      shapes.push_back(shape);
    }
    std::map<std::int64_t, std::set<std::size_t>> regions_at;
    for (std::size_t r = 0; r < shapes.size(); ++r) {
      ForEachIndex(shapes[r].extent, [&](const List& index) {
        std::int64_t at = shapes[r].offset;
        for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * shapes[r].stride[d];
        regions_at[at].insert(r);
      });
    }
    bool expected = false;
    for (const auto& [at, regions] : regions_at) expected = expected || regions.size() > 1;
    (expected ? overlapping : disjoint) += 1;
    const auto overlap = FindOverlap(LayoutOfShapes(shapes));
    ASSERT_TRUE(overlap.has_value()) << "seed " << seed;
    ASSERT_EQ(overlap->has_value(), expected) << "seed " << seed;
    if (!expected) continue;
    bool pair_meets = false;
    for (const auto& [at, regions] : regions_at) {
      pair_meets = pair_meets || (regions.contains(static_cast<std::size_t>((*overlap)->first)) &&
                                  regions.contains(static_cast<std::size_t>((*overlap)->second)));
    }
    ASSERT_TRUE(pair_meets) << "seed " << seed;
  }
  EXPECT_GT(overlapping, 2000);
  EXPECT_GT(disjoint, 2000);
}

}  // namespace
}  // namespace reshard
