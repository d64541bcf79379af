#include "schedules/conversion.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace reshard {
namespace {

TEST(ConversionRecordTest, EveryKindHasItsOwnName) {
  std::set<std::string> names;
  for (int kind = 0; kind < kConversionKindCount; ++kind) {
    names.emplace(Name(static_cast<ConversionKind>(kind)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kConversionKindCount));
}

TEST(ConversionRecordTest, NumbersConvertToWhatAKindMakes) {
  EXPECT_TRUE(Converts(ConversionKind::kCast, DType::kF32, DType::kBF16));
  EXPECT_TRUE(Converts(ConversionKind::kNegativeExponential, DType::kBF16, DType::kF32));
  EXPECT_FALSE(Converts(ConversionKind::kCast, DType::kI32, DType::kF32));
  EXPECT_FALSE(Converts(ConversionKind::kCast, DType::kF32, DType::kU8));
  EXPECT_TRUE(Converts(ConversionKind::kBlockValues, DType::kBF16, DType::kF8E4M3));
  EXPECT_FALSE(Converts(ConversionKind::kBlockValues, DType::kBF16, DType::kF32));
  EXPECT_TRUE(Converts(ConversionKind::kBlockScales, DType::kF16, DType::kF32));
  EXPECT_TRUE(Converts(ConversionKind::kRceilScales, DType::kBF16, DType::kU8));
  EXPECT_FALSE(Converts(ConversionKind::kFloorScales, DType::kBF16, DType::kF32));
}

TEST(ConversionRecordTest, CountsElementsOrBlocks) {
  Conversion conversion;
  conversion.kind = ConversionKind::kBlockScales;
  conversion.extent = {130, 256};
  conversion.block = {128, 128};
  EXPECT_EQ(conversion.Count(0), 2);
  EXPECT_EQ(conversion.Count(1), 2);
  conversion.kind = ConversionKind::kBlockValues;
  EXPECT_EQ(conversion.Count(0), 130);
}

TEST(ConversionRecordTest, MarksComputedParameters) {
  std::vector<Conversion> conversions(2);
  conversions[0].parameter = 1;
  conversions[1].parameter = 3;
  EXPECT_EQ(ComputedParameters(conversions, 4), (std::vector<bool>{false, true, false, true}));
}

}  // namespace
}  // namespace reshard
