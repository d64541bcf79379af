#include "schedules/lane_order.h"

#include <algorithm>
#include <cstddef>

namespace reshard {

LaneOrder::LaneOrder(std::span<const Wait> waits) : lags_{} {
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    lags_[lane].fill(kUnordered);
    lags_[lane][lane] = 1;
  }
  for (const Wait& wait : waits) {
    std::int64_t& lag =
        lags_[static_cast<std::size_t>(wait.lane)][static_cast<std::size_t>(wait.on)];
    lag = std::min(lag, std::int64_t{wait.lag});
  }
  // Floyd and Warshall's closure.
  for (std::size_t via = 0; via < kLaneCount; ++via) {
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      for (std::size_t on = 0; on < kLaneCount; ++on) {
        lags_[lane][on] = std::min(lags_[lane][on], lags_[lane][via] + lags_[via][on]);
      }
    }
  }
}

}  // namespace reshard
