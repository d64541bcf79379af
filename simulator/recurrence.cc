#include "simulator/recurrence.h"

#include <algorithm>
#include <cstdlib>

namespace reshard {

// Two lanes of a rank that wait for each other are at most one's lag apart, and reach back by the
// other's.
RoundIndex RecurrenceFinder::Window(RoundIndex lag, RoundIndex period) {
  return std::max({2 * lag, period, RoundIndex{1}});
}

bool RecurrenceFinder::Repeats(const StepHistory& history, std::span<const LaneProgress> lanes,
                               const Recurrence& recurrence) const {
  const RoundIndex window = Window(lag_, recurrence.rounds);
  const auto difference_max =
      static_cast<Nanoseconds>(static_cast<double>(recurrence.time) * tolerance_);
  return std::ranges::all_of(lanes, [&](const LaneProgress& at) {
    if (at.latest - (window - 1) - recurrence.rounds < begin_) return false;
    for (RoundIndex round = at.latest; round > at.latest - window; --round) {
      const Nanoseconds time =
          history.End(at.lane, round) - history.End(at.lane, round - recurrence.rounds);
      if (std::abs(time - recurrence.time) > difference_max) return false;
    }
    return true;
  });
}

std::optional<Recurrence> RecurrenceFinder::Find(const StepHistory& history,
                                                 std::span<const LaneProgress> lanes,
                                                 RoundIndex round, Nanoseconds now) {
  std::optional<Recurrence> found;
  for (auto sample = samples_.rbegin(); sample != samples_.rend() && !found; ++sample) {
    const Recurrence recurrence{round - sample->round, now - sample->time};
    if (recurrence.rounds > kPeriodMax) break;
    if (Repeats(history, lanes, recurrence)) found = recurrence;
  }
  if (samples_.size() == static_cast<std::size_t>(kPeriodMax)) samples_.pop_front();
  samples_.push_back({round, now});
  return found;
}

}  // namespace reshard
