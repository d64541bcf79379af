#include "schedules/carried_bytes.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using Pairs = std::map<std::pair<RankIndex, RankIndex>, std::int64_t>;

Pairs BytesByPair(const Plan& plan) {
  Pairs pairs;
  for (const CarriedBytes& carried : ListCarriedBytes(plan)) {
    pairs[{carried.from, carried.to}] += carried.bytes;
  }
  return pairs;
}

// What small_plan.h says of either plan.
TEST(CarriedBytesTest, TransfersCarryTheirColumns) {
  EXPECT_EQ(BytesByPair(SmallPlan()),
            (Pairs{{{0, 2}, 200}, {{2, 1}, 72}, {{0, 3}, 64}, {{3, 4}, 64}}));
}

TEST(CarriedBytesTest, FlowsCarryTheirRepeats) {
  EXPECT_EQ(BytesByPair(SmallTrafficPlan()),
            (Pairs{{{0, 2}, 200}, {{2, 1}, 72}, {{0, 3}, 64}, {{0, 4}, 64}}));
}

}  // namespace
}  // namespace reshard
