#include "simulator/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reshard {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// 4 bytes a nanosecond from 5 to 25 in stretches of 10: 5, 10 and 5 ns, half of it on resource 1.
TEST(TimelineTest, SpreadsBytesOverStretches) {
  FlowTable table;
  const std::vector<ResourceShare> shares = {{0, 1}, {1, 0.5}};
  table.Add(shares, kUncapped);
  Timeline timeline(table, 3, 10);
  timeline.Add(0, 5, 25, 4);
  EXPECT_THAT(timeline.Bytes(0), ElementsAre(DoubleEq(20), DoubleEq(40), DoubleEq(20)));
  EXPECT_THAT(timeline.Bytes(1), ElementsAre(DoubleEq(10), DoubleEq(20), DoubleEq(10)));
  EXPECT_THAT(timeline.Bytes(2), IsEmpty());
  timeline.Add(0, 10, 12, 1);
  EXPECT_THAT(timeline.Bytes(0), ElementsAre(DoubleEq(20), DoubleEq(42), DoubleEq(20)));
}

}  // namespace
}  // namespace reshard
