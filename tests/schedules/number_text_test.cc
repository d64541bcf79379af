#include "schedules/number_text.h"

#include <gtest/gtest.h>

#include <vector>

namespace reshard {
namespace {

TEST(NumberTextTest, BytesHaveFourDigitsInPowersOf1000) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(999), "999 B");
  EXPECT_EQ(BytesText(1000), "1.000 kB");
  EXPECT_EQ(BytesText(1234567), "1.235 MB");
  EXPECT_EQ(BytesText(673212345678), "673.2 GB");
  EXPECT_EQ(BytesText(INT64_MAX), "9.223 EB");
  EXPECT_EQ(BytesText(-1500), "-1.500 kB");
  // Rounding up to 1000 takes the next unit.
  EXPECT_EQ(BytesText(999949), "999.9 kB");
  EXPECT_EQ(BytesText(999950), "1.000 MB");
}

TEST(NumberTextTest, SecondsTakeTheirUnit) {
  EXPECT_EQ(SecondsText(0), "0 s");
  EXPECT_EQ(SecondsText(14.2e-6), "14.20 us");
  EXPECT_EQ(SecondsText(0.2268), "226.8 ms");
  EXPECT_EQ(SecondsText(1.447), "1.447 s");
  EXPECT_EQ(SecondsText(0.99996), "1.000 s");
}

TEST(NumberTextTest, CountsAreGroupedByThree) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(90427), "90,427");
  EXPECT_EQ(CountText(1234567), "1,234,567");
  EXPECT_EQ(CountText(-123456), "-123,456");
}

TEST(NumberTextTest, ShapesAreListsOfSizes) {
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(ShapeText(Sizes{}), "[]");
  EXPECT_EQ(ShapeText(Sizes{0}), "[0]");
  EXPECT_EQ(ShapeText(Sizes{16, 4096, 7168}), "[16, 4096, 7168]");
}

TEST(NumberTextTest, RangesJoinEqualSteps) {
  using Numbers = std::vector<std::int32_t>;
  EXPECT_EQ(RangesText(Numbers{}), "none");
  EXPECT_EQ(RangesText(Numbers{5}), "5");
  EXPECT_EQ(RangesText(Numbers{0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(RangesText(Numbers{0, 16}), "0,16");
  EXPECT_EQ(RangesText(Numbers{128, 136, 144, 152}), "128-152 by 8");
  EXPECT_EQ(RangesText(Numbers{1, 3, 5, 6, 7}), "1,3,5-7");
}

}  // namespace
}  // namespace reshard
