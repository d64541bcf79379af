#include "foundation/checked_arithmetic.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace reshard {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

TEST(CheckedArithmeticTest, AddsUpToTheLargestInteger) {
  EXPECT_EQ(CheckedAdd(kLargest - 1, 1), kLargest);
  EXPECT_EQ(CheckedAdd(kLargest, 1), std::nullopt);
  EXPECT_EQ(CheckedAdd(-kLargest, -2), std::nullopt);
}

TEST(CheckedArithmeticTest, MultipliesUpToTheLargestInteger) {
  // 2^31 * 2^31 = 2^62 fits; 2^32 * 2^31 = 2^63 does not.
  EXPECT_EQ(CheckedMultiply(std::int64_t{1} << 31, std::int64_t{1} << 31), std::int64_t{1} << 62);
  EXPECT_EQ(CheckedMultiply(std::int64_t{1} << 32, std::int64_t{1} << 31), std::nullopt);
}

TEST(CheckedArithmeticTest, ProductOfNothingIsOneAndZeroDoesNotHideOverflowBeforeIt) {
  EXPECT_EQ(CheckedProduct({}), 1);
  const std::vector<std::int64_t> shape = {131072, 131072};
  EXPECT_EQ(CheckedProduct(shape), std::int64_t{1} << 34);
  const std::vector<std::int64_t> overflowing = {kLargest, 2, 0};
  EXPECT_EQ(CheckedProduct(overflowing), std::nullopt);
}

TEST(CheckedArithmeticTest, CeilDivideRoundsUp) {
  EXPECT_EQ(CeilDivide(0, 4), 0);
  EXPECT_EQ(CeilDivide(10, 4), 3);
  EXPECT_EQ(CeilDivide(12, 4), 3);
  EXPECT_EQ(CeilDivide(kLargest, 2), std::int64_t{1} << 62);  // (2^63 - 1) / 2, up
}

}  // namespace
}  // namespace reshard
