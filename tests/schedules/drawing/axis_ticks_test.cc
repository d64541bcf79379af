#include "schedules/drawing/axis_ticks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace reshard {
namespace {

TEST(AxisTicksTest, StepsAreRound) {
  EXPECT_EQ(AxisTicks(10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(AxisTicks(17.2, 3), (std::vector<double>{0, 10}));
  EXPECT_EQ(AxisTicks(0, 4), (std::vector<double>{0}));
  EXPECT_EQ(AxisTicks(-1, 4), (std::vector<double>{0}));
}

TEST(AxisTicksTest, NeverMoreThanAskedForAndAtLeastHalfTheAxis) {
  for (double most = 1.3e-9; most < 1e15; most *= 1.7) {
    for (int count = 3; count < 12; ++count) {
      const std::vector<double> ticks = AxisTicks(most, count);
      ASSERT_GE(ticks.size(), 2U) << most << " " << count;
      EXPECT_LE(ticks.size(), static_cast<std::size_t>(count) + 1) << most << " " << count;
      EXPECT_LE(ticks.back(), most * (1 + 1e-6));
      EXPECT_GT(ticks.back(), most / 2 * (1 - 1e-6)) << most << " " << count;
    }
  }
}

TEST(AxisTicksTest, LabelsShareTheUnitOfTheLargest) {
  EXPECT_EQ(TimeLabels({0, 0.05, 0.1}), (std::vector<std::string>{"0", "50 ms", "100 ms"}));
  EXPECT_EQ(TimeLabels({0, 0.5, 1}), (std::vector<std::string>{"0", "0.5 s", "1 s"}));
  EXPECT_EQ(ByteLabels({0, 2e10, 4e10}), (std::vector<std::string>{"0", "20 GB", "40 GB"}));
  EXPECT_EQ(ByteLabels({0}), (std::vector<std::string>{"0"}));
  EXPECT_EQ(ByteLabels({}), std::vector<std::string>{});
}

}  // namespace
}  // namespace reshard
