#include "compiler/job/computed_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Longs = std::vector<std::int64_t>;

Model Tensors() {
  Model model;
  model.tensors = {{"w", DType::kF8E4M3, {6, 8}}, {"w_scale_inv", DType::kF32, {2, 2}}};
  return model;
}

ConvertedTensor ConvertedOf(TensorIndex tensor, ConversionKind kind) {
  return {tensor, kind, "w", DType::kBF16, {6, 8}, {4, 4}};
}

RankLayout Stored() {
  RankLayout layout;
  layout.parameters = {{"p", DType::kBF16, {8, 10}}};
  return layout;
}

// Rows 4 to 5 of w, an edge block's, at row 2, column 1 of p.
const Longs kBegin = {4, 0};
const Longs kExtent = {2, 8};
const Longs kStride = {10, 1};

TEST(ComputedParametersTest, BlocksOfABoxAreParametersOfTheirOwn) {
  const Model tensors = Tensors();
  ComputedParameterBuilder builder(tensors, Stored());
  ASSERT_TRUE(builder.Convert({0, 0, 21, kBegin, kExtent, kStride},
                              ConvertedOf(0, ConversionKind::kBlockValues)));
  ASSERT_TRUE(builder.Convert({1, 0, 21, kBegin, kExtent, kStride},
                              ConvertedOf(1, ConversionKind::kBlockScales)));
  const RankLayout layout = std::move(builder).Build();
  ASSERT_EQ(layout.parameters.size(), 3U);
  ASSERT_EQ(layout.conversions.size(), 2U);
  for (const Conversion& conversion : layout.conversions) {
    EXPECT_EQ(conversion.source, 0);
    EXPECT_EQ(conversion.offset, 21);
    EXPECT_THAT(conversion.extent, ElementsAre(2, 8));
    EXPECT_THAT(conversion.stride, ElementsAre(10, 1));
  }
  const Region values = layout.regions[0];
  EXPECT_THAT(values.begin, ElementsAre(4, 0));
  EXPECT_THAT(values.stride, ElementsAre(8, 1));
  const Region scales = layout.regions[1];
  EXPECT_THAT(scales.begin, ElementsAre(1, 0));
  EXPECT_THAT(scales.extent, ElementsAre(1, 2));
  const Parameter& parameter = layout.parameters[static_cast<std::size_t>(scales.parameter)];
  EXPECT_EQ(parameter.dtype, DType::kF32);
  EXPECT_THAT(parameter.shape, ElementsAre(1, 2));
}

TEST(ComputedParametersTest, ABoxThatCutsABlockIsRefused) {
  const Model tensors = Tensors();
  ComputedParameterBuilder builder(tensors, Stored());
  const Longs cut = {2, 0};
  const Result<void> converted = builder.Convert({0, 0, 0, cut, kExtent, kStride},
                                                 ConvertedOf(0, ConversionKind::kBlockValues));
  ASSERT_FALSE(converted);
  EXPECT_THAT(
      converted.error().reason,
      HasSubstr("tensor w: its shard has 2 to 4 of 6 along dim 0, which cuts a block of 4x4"));
}

TEST(ComputedParametersTest, ElementsOfOneParameterShareAComputedOne) {
  Model tensors;
  tensors.tensors = {{"a", DType::kF32, {2, 8}}, {"b", DType::kF32, {2, 8}}};
  ComputedParameterBuilder builder(tensors, Stored());
  const Longs zero = {0, 0};
  ConvertedTensor cast = {0, ConversionKind::kCast, "a", DType::kBF16, {2, 8}, {}};
  ASSERT_TRUE(builder.Convert({0, 0, 0, zero, kExtent, kStride}, cast));
  cast.tensor = 1;
  ASSERT_TRUE(builder.Convert({1, 0, 40, zero, kExtent, kStride}, cast));
  const RankLayout layout = std::move(builder).Build();
  ASSERT_EQ(layout.conversions.size(), 1U);
  EXPECT_THAT(layout.conversions[0].extent, ElementsAre(80));
  ASSERT_EQ(layout.regions.size(), 2);
  EXPECT_EQ(layout.regions[1].parameter, layout.conversions[0].parameter);
  EXPECT_EQ(layout.regions[1].offset, 40);
}

}  // namespace
}  // namespace reshard
