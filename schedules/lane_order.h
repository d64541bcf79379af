// The happens-before order of the steps of one rank, closed over lanes and waits.
//
// Two facts order steps: step r of a lane starts after its step r - 1 has ended; and a wait
// (lane, on, lag) makes step r of `lane` start after step r - lag of `on` has ended. A chain of
// such facts orders step r of its first lane after step r - (sum of lags) of its last one, and
// since steps of a lane run in order, after all earlier ones. So for two lanes all that matters is
// the smallest sum of lags over all chains between them: a shortest path in a graph of three nodes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "schedules/plan.h"

namespace reshard {

class LaneOrder {
 public:
  static constexpr std::int64_t kUnordered = INT64_MAX / 4;

  explicit LaneOrder(std::span<const Wait> waits);

  // The smallest lag such that step r of `lane` starts after step r - lag of `on` has ended, for
  // every r; kUnordered if there is none.
  std::int64_t Lag(Lane lane, Lane on) const {
    return lags_[static_cast<std::size_t>(lane)][static_cast<std::size_t>(on)];
  }

  // Whether step `later` of `lane` always starts after step `earlier` of `on` has ended.
  bool IsAfter(Lane lane, std::int64_t later, Lane on, std::int64_t earlier) const {
    return Lag(lane, on) <= later - earlier;
  }

 private:
  std::array<std::array<std::int64_t, kLaneCount>, kLaneCount> lags_;
};

}  // namespace reshard
