#include "simulator/recurrence.h"

#include <utility>

namespace reshard {
namespace {

bool AreClose(const std::vector<Nanoseconds>& a, const std::vector<Nanoseconds>& b,
              Nanoseconds tolerance) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    // Both lie within the simulated time, so the difference fits; kNever is only close to itself.
    const Nanoseconds difference = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
    if (difference > tolerance) return false;
  }
  return true;
}

}  // namespace

std::optional<Recurrence> RecurrenceFinder::Add(ReplayState state, RoundIndex round,
                                                Nanoseconds time) {
  for (auto sample = samples_.rbegin(); sample != samples_.rend(); ++sample) {
    const Nanoseconds period = time - sample->time;
    if (sample->state.facts == state.facts &&
        AreClose(sample->state.times, state.times,
                 static_cast<Nanoseconds>(static_cast<double>(period) * tolerance_))) {
      return Recurrence{round - sample->round, period};
    }
  }
  if (samples_.size() == memory_) samples_.pop_front();
  samples_.push_back({std::move(state), round, time});
  return std::nullopt;
}

}  // namespace reshard
