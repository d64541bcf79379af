#include "runtime/lane_progress.h"

#include <algorithm>

namespace reshard {

bool LaneProgress::CanBegin(Lane lane) const {
  const RoundIndex step = begun_[Index(lane)];
  if (IsRunning(lane) || step >= round_count_) return false;
  return std::all_of(waits_.begin(), waits_.end(), [&](const Wait& wait) {
    return wait.lane != lane || step < wait.lag || ended_[Index(wait.on)] > step - wait.lag;
  });
}

bool LaneProgress::IsDone() const {
  return std::all_of(ended_.begin(), ended_.end(),
                     [this](RoundIndex ended) { return ended == round_count_; });
}

}  // namespace reshard
