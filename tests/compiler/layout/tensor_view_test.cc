#include "compiler/layout/tensor_view.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

using Sizes = std::vector<std::int64_t>;

Sizes ValuesOf(std::span<const std::int64_t> values) { return {values.begin(), values.end()}; }

TEST(TensorViewTest, ShapeHasTheDimTwice) {
  EXPECT_EQ(ViewedShape({.dim = 1, .inner = 2}, {3, 8, 5}), (Sizes{3, 4, 2, 5}));
  EXPECT_EQ(ViewedShape({.dim = 0, .inner = 3}, {0}), (Sizes{0, 3}));
}

// Columns 3 to 11 of stretches of 4: column 3 alone, the stretch of 4 to 7, then 8 to 10. Column c
// lies at 100 + 2 (c - 3).
TEST(TensorViewTest, ARangeIsCutWhereItBeginsAndEndsInsideAStretch) {
  RegionTable regions;
  AddViewed({.dim = 1, .inner = 4},
            {.tensor = 5,
             .parameter = 6,
             .offset = 100,
             .begin = Sizes{7, 3},
             .extent = Sizes{2, 8},
             .stride = Sizes{50, 2}},
            regions);
  ASSERT_EQ(regions.size(), 3);
  EXPECT_EQ(ValuesOf(regions[0].begin), (Sizes{7, 0, 3}));
  EXPECT_EQ(ValuesOf(regions[0].extent), (Sizes{2, 1, 1}));
  EXPECT_EQ(regions[0].offset, 100);
  EXPECT_EQ(ValuesOf(regions[1].begin), (Sizes{7, 1, 0}));
  EXPECT_EQ(ValuesOf(regions[1].extent), (Sizes{2, 1, 4}));
  EXPECT_EQ(ValuesOf(regions[1].stride), (Sizes{50, 8, 2}));
  EXPECT_EQ(regions[1].offset, 102);
  EXPECT_EQ(ValuesOf(regions[2].begin), (Sizes{7, 2, 0}));
  EXPECT_EQ(ValuesOf(regions[2].extent), (Sizes{2, 1, 3}));
  EXPECT_EQ(regions[2].offset, 110);
  for (std::int64_t r = 0; r < regions.size(); ++r) {
    EXPECT_EQ(regions[r].tensor, 5);
    EXPECT_EQ(regions[r].parameter, 6);
  }
}

// A random box, written out element by element, is the same as listed and as seen.
TEST(TensorViewTest, BoxesHoldTheSameElements) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    const std::int64_t inner = pick(2, 4);
    const Tensor tensor{"t", DType::kBF16, {3, inner * pick(1, 5), 2}};
    const TensorView view{.dim = 1, .inner = inner};
    Sizes begin;
    Sizes extent;
    for (const std::int64_t size : tensor.shape) {
      begin.push_back(pick(0, size - 1));
      extent.push_back(pick(1, size - begin.back()));
    }
    const Sizes parameter_shape{extent[2], extent[0], extent[1]};  // turned
    RankLayout listed;
    listed.parameters = {{"p", DType::kBF16, parameter_shape}};
    RankLayout seen = listed;
    const Sizes stride{extent[1], 1, extent[0] * extent[1]};
    const Region box{.tensor = 0,
                     .parameter = 0,
                     .offset = 0,
                     .begin = begin,
                     .extent = extent,
                     .stride = stride};
    listed.regions.Add(box);
    AddViewed(view, box, seen.regions);
    EXPECT_LE(seen.regions.size(), 3);
    const std::vector<Tensor> as_listed{tensor};
    const std::vector<Tensor> as_seen{{"t", DType::kBF16, ViewedShape(view, tensor.shape)}};
    ASSERT_EQ(Contents(as_seen, seen, "p"), Contents(as_listed, listed, "p"));
  }
}

}  // namespace
}  // namespace reshard
