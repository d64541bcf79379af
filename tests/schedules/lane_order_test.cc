#include "schedules/lane_order.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace reshard {
namespace {

TEST(LaneOrderTest, WithoutWaitsLanesRunInOrderOnTheirOwn) {
  const LaneOrder order({});
  EXPECT_EQ(order.Lag(Lane::kPack, Lane::kPack), 1);
  EXPECT_FALSE(order.IsAfter(Lane::kExchange, 1000, Lane::kPack, 0));
  EXPECT_TRUE(order.IsAfter(Lane::kUnpack, 3, Lane::kUnpack, 2));
  EXPECT_FALSE(order.IsAfter(Lane::kUnpack, 3, Lane::kUnpack, 3));
}

TEST(LaneOrderTest, ChainsAddTheirLags) {
  const std::vector<Wait> waits{{Lane::kExchange, Lane::kPack, 0},
                                {Lane::kUnpack, Lane::kExchange, 0},
                                {Lane::kPack, Lane::kUnpack, 3}};
  const LaneOrder order(waits);
  EXPECT_EQ(order.Lag(Lane::kUnpack, Lane::kPack), 0);
  EXPECT_EQ(order.Lag(Lane::kPack, Lane::kExchange), 3);
  EXPECT_EQ(order.Lag(Lane::kExchange, Lane::kUnpack), 3);
  EXPECT_EQ(order.Lag(Lane::kExchange, Lane::kExchange), 1);
}

// The oracle expands rounds: step (lane, r) knows, lane by lane, the last step that ended before it
// starts, by walking the facts of lane_order.h forwards.
TEST(LaneOrderTest, AgreesWithExpandedRounds) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  constexpr int kRounds = 24;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Wait> waits;
    for (int i = static_cast<int>(random() % 5); i > 0; --i) {
      const auto lane = static_cast<Lane>(random() % 3);
      const auto on = static_cast<Lane>(random() % 3);
      waits.push_back({lane, on, static_cast<std::int32_t>(random() % 4 + (on >= lane ? 1 : 0))});
    }
    const LaneOrder order(waits);
    int known[kRounds][kLaneCount][kLaneCount];  // [round][lane][on]
    for (int r = 0; r < kRounds; ++r) {
      for (int lane = 0; lane < kLaneCount; ++lane) {
        for (int on = 0; on < kLaneCount; ++on) known[r][lane][on] = -1;
        const auto after = [&](int earlier_lane, int earlier) {
          if (earlier < 0) return;
          for (int on = 0; on < kLaneCount; ++on) {
            known[r][lane][on] = std::max(known[r][lane][on], known[earlier][earlier_lane][on]);
          }
          known[r][lane][earlier_lane] = std::max(known[r][lane][earlier_lane], earlier);
        };
        after(lane, r - 1);
        for (const Wait& wait : waits) {
          if (static_cast<int>(wait.lane) == lane) after(static_cast<int>(wait.on), r - wait.lag);
        }
      }
    }
    // Late enough for every chain to have begun.
    const int r = kRounds - 1;
    for (int lane = 0; lane < kLaneCount; ++lane) {
      for (int on = 0; on < kLaneCount; ++on) {
        const std::int64_t lag = order.Lag(static_cast<Lane>(lane), static_cast<Lane>(on));
        EXPECT_EQ(known[r][lane][on], lag > kRounds ? -1 : r - lag)
            << "trial " << trial << ", lane " << lane << " on " << on;
      }
    }
  }
}

}  // namespace
}  // namespace reshard
