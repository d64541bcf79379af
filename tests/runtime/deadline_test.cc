#include "runtime/deadline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace reshard {
namespace {

using std::chrono::nanoseconds;

TEST(DeadlineTest, BoundsWhatCallersGive) {
  EXPECT_EQ(BoundedWait(nanoseconds(5)), nanoseconds(5));
  EXPECT_EQ(BoundedWait(nanoseconds(-5)), nanoseconds(0));
  EXPECT_EQ(BoundedWait(nanoseconds::max()), kLongestWait);
  EXPECT_EQ(BoundedSeconds(1.5), nanoseconds(1'500'000'000));
  EXPECT_EQ(BoundedSeconds(-1.0), nanoseconds(0));
  EXPECT_EQ(BoundedSeconds(1e300), kLongestWait);
  EXPECT_EQ(BoundedSeconds(std::numeric_limits<double>::infinity()), kLongestWait);
  EXPECT_EQ(BoundedSeconds(std::nan("")), nanoseconds(0));
  EXPECT_EQ(BoundedSeconds(std::int64_t{3}), nanoseconds(3'000'000'000));
  EXPECT_EQ(BoundedSeconds(std::numeric_limits<std::int64_t>::max()), kLongestWait);
  EXPECT_EQ(BoundedSeconds(std::numeric_limits<std::int64_t>::min()), nanoseconds(0));
}

// An overflow would put it into the past.
TEST(DeadlineTest, TheLongestWaitLiesAhead) {
  const auto latest = DeadlineAfter(nanoseconds::max());
  EXPECT_GT(latest, std::chrono::steady_clock::now());
  const auto earliest = DeadlineAfter(nanoseconds::min());
  EXPECT_LE(earliest, std::chrono::steady_clock::now());
}

}  // namespace
}  // namespace reshard
