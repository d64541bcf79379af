// Finds out that a replay repeats itself.
//
// In a plan's middle every round carries the same bytes, and soon all ranks stand to each other as
// they stood some rounds before. From then on everything repeats with that period for as long as
// the rounds stay alike, and the replay may jump ahead instead of running it again.
//
// Ranks that meet over short transfers only may drift against each other for thousands of rounds,
// by the few bytes in which their rounds differ, until the slack of those transfers is used up. So
// times need not be equal to the last nanosecond: they may differ by a share of the period. A
// difference moves what follows by no more than itself, so that share bounds the relative error of
// the time jumped over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "schedules/plan.h"
#include "simulator/flow_engine.h"

namespace reshard {

// Times may differ by this part of the period, unless said otherwise (ReplayModel::tolerance of
// very large models). Periods below 100 us must
// then be exact.
inline constexpr double kPeriodTolerance = 1e-5;

struct Recurrence {
  RoundIndex rounds = 0;  // > 0
  Nanoseconds time = 0;
};

// Everything that decides what follows, in terms relative to a round and an instant.
struct ReplayState {
  std::vector<std::int64_t> facts;  // equal, or the states differ
  std::vector<Nanoseconds> times;   // of what is under way; as many for equal facts
};

class RecurrenceFinder {
 public:
  // Remembers the last `memory` states: periods of more are not found.
  explicit RecurrenceFinder(std::size_t memory, double tolerance = kPeriodTolerance)
      : memory_(memory), tolerance_(tolerance) {}

  void Clear() { samples_.clear(); }
  // Returns how long ago the state was the same, if it was. Rounds ascend from call to call.
  std::optional<Recurrence> Add(ReplayState state, RoundIndex round, Nanoseconds time);

 private:
  struct Sample {
    ReplayState state;
    RoundIndex round = 0;
    Nanoseconds time = 0;
  };
  std::size_t memory_;
  double tolerance_;
  std::deque<Sample> samples_;
};

}  // namespace reshard
