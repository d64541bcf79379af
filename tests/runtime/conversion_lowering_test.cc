#include "runtime/conversion_lowering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "runtime/lowering.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A rank that stores F32 "w" [3, 4] and computes BF16 "w16" of all of it, and of its last two rows
// the scales of blocks of 2 x 2.
RankPart PartOfConversions() {
  RankPart part;
  part.rank_count = 1;
  part.source_parameters = {
      {"scales", DType::kF32, {1, 2}}, {"w", DType::kF32, {3, 4}}, {"w16", DType::kBF16, {3, 4}}};
  part.source_conversions = {{0, 1, ConversionKind::kBlockScales, 4, {2, 4}, {4, 1}, {2, 2}},
                             {2, 1, ConversionKind::kCast, 0, {12}, {1}, {}}};
  return part;
}

constexpr std::int64_t kBaseBytes[] = {0, 8, 48, 24};  // staging, then the parameters

std::string FaultOf(const RankPart& part) {
  const Result<ConvertedBuffers> lowered = LowerConversions(part, 1, kBaseBytes);
  return lowered ? "" : lowered.error().reason;
}

TEST(ConversionLoweringTest, MakesABufferOfEachConversion) {
  const Result<ConvertedBuffers> lowered = LowerConversions(PartOfConversions(), 1, kBaseBytes);
  ASSERT_TRUE(lowered) << ToString(lowered.error());
  ASSERT_EQ(lowered->size(), 2);
  const ConvertedBuffer scales = (*lowered)[0];
  EXPECT_EQ(scales.function, ConversionFunction::kBlockScales);
  EXPECT_EQ(scales.rule, BlockScaleRule::kAmax);
  EXPECT_EQ(scales.base, 2);
  EXPECT_EQ(scales.offset, 16);
  EXPECT_THAT(scales.dims, ElementsAre(ConversionDim{2, 16, 2}, ConversionDim{4, 4, 2}));
  EXPECT_EQ((*lowered)[1].function, ConversionFunction::kCast);
  EXPECT_EQ((*lowered)[1].to, ConversionElement::kBF16);
}

TEST(ConversionLoweringTest, RefusesConversionsThatAreNone) {
  EXPECT_EQ(FaultOf(PartOfConversions()), "");
  RankPart part = PartOfConversions();
  part.source_conversions[0].source = 3;
  EXPECT_THAT(FaultOf(part), HasSubstr("is none of its parameters"));
  part = PartOfConversions();
  part.source_conversions[0].block.pop_back();
  EXPECT_THAT(FaultOf(part), HasSubstr("is none of its parameters"));
  part = PartOfConversions();
  part.source_conversions[0].offset = 5;
  EXPECT_THAT(FaultOf(part), HasSubstr("reads outside of its source"));
  part = PartOfConversions();
  part.source_conversions[1].extent = {11};
  EXPECT_THAT(FaultOf(part), HasSubstr("has not the size of its parameter"));
  part = PartOfConversions();
  part.source_conversions[1].source = 0;
  part.source_conversions[1].extent = {2};
  EXPECT_THAT(FaultOf(part), HasSubstr("computed itself"));
}

TEST(ConversionLoweringTest, SplitsATable) {
  CopyTable table;
  table.Add({3, 0, 2, 0, 6, {}});  // out of w16
  table.Add({2, 0, 8, 6, 4, {}});  // out of w
  CopyTable converted;
  SplitConversions(PartOfConversions().source_conversions, 1, table, converted);
  ASSERT_EQ(table.size(), 1);
  EXPECT_EQ(table[0].source_base, 2);
  ASSERT_EQ(converted.size(), 1);
  EXPECT_EQ(converted[0].source_base, 1);
  EXPECT_EQ(converted[0].source_offset, 2);
}

TEST(ConversionLoweringTest, ComputesParametersAsIfTheyWereStored) {
  // Rows 0.., 448.., -896..: blocks of the last two rows have the magnitudes 896 and 898.
  const std::vector<float> w = {0, 1, 2, 3, 448, 449, 450, 451, -896, -895, -894, 898};
  std::vector<std::byte> stored(48);
  std::memcpy(stored.data(), w.data(), stored.size());
  std::byte* const addresses[] = {nullptr, stored.data(), nullptr};
  const auto computed = ComputeParameters(PartOfConversions(), addresses);
  ASSERT_EQ(computed.size(), 2U);
  float scales[2];
  ASSERT_EQ(computed[0].size(), sizeof(scales));
  std::memcpy(scales, computed[0].data(), sizeof(scales));
  EXPECT_THAT(scales, ElementsAre(896.0F / 448, 898.0F / 448));
  std::uint16_t first[3];
  std::memcpy(first, computed[1].data(), sizeof(first));
  EXPECT_THAT(first, ElementsAre(0, 0x3F80, 0x4000));
}

TEST(ConversionLoweringTest, ConvertsAWholeTensor) {
  const ConvertedTensor converted = {0, ConversionKind::kMinusOne, "w", DType::kF32, {3}, {}};
  const std::vector<float> w = {1, 2.5F, -1};
  std::vector<std::byte> origin(12);
  std::memcpy(origin.data(), w.data(), origin.size());
  const std::vector<std::byte> bytes = ConvertTensor(converted, DType::kF32, origin);
  float numbers[3];
  ASSERT_EQ(bytes.size(), sizeof(numbers));
  std::memcpy(numbers, bytes.data(), sizeof(numbers));
  EXPECT_THAT(numbers, ElementsAre(0, 1.5F, -2));
}

TEST(ConversionLoweringTest, FindsTheOriginOfAScaleRegion) {
  const std::vector<std::int64_t> begin = {3, 0};
  const std::vector<std::int64_t> extent = {1, 2};
  const std::vector<std::int64_t> stride = {2, 1};
  const OriginRegion origin =
      OriginOf({0, 0, 0, begin, extent, stride}, PartOfConversions().source_conversions[0]);
  EXPECT_EQ(origin.offset, 4);
  EXPECT_THAT(origin.begin, ElementsAre(6, 0));
  EXPECT_THAT(origin.extent, ElementsAre(2, 4));
  EXPECT_THAT(origin.stride, ElementsAre(4, 1));
}

}  // namespace
}  // namespace reshard
