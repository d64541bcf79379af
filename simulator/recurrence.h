// Finds out that a replay repeats itself.
//
// In a plan's middle every round carries the same bytes, and soon all ranks end their steps as far
// apart as they ended them some rounds before. From then on everything repeats with that period for
// as long as the rounds stay alike, and the replay may jump ahead instead of running it again.
//
// What follows is decided by when the steps ended that it waits for: a step starts with the latest
// of those, and a flow with its later end's step, within which it ends. So the state is told by the
// ends of the last steps, as many rounds back as a wait reaches and as the period has. Unlike what
// is under way at an instant they do not depend on which of two things comes a nanosecond earlier.
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
#include <span>
#include <vector>

#include "schedules/plan.h"
#include "simulator/flow_engine.h"

namespace reshard {

// Times may differ by this part of the period, more in very large models (ReplayModel::tolerance).
// Periods below 100 us must then be exact.
inline constexpr double kPeriodTolerance = 1e-5;

// When the latest steps of each lane ended.
class StepHistory {
 public:
  // Keeps those of the last `rounds` > 0 rounds of each of `lanes` lanes.
  StepHistory(std::size_t lanes, RoundIndex rounds)
      : rounds_(rounds), ends_(lanes * static_cast<std::size_t>(rounds)) {}

  void Add(std::size_t lane, RoundIndex round, Nanoseconds end) { ends_[Index(lane, round)] = end; }
  // Of a step that was added, and no later one that is `rounds` or more later.
  Nanoseconds End(std::size_t lane, RoundIndex round) const { return ends_[Index(lane, round)]; }

 private:
  std::size_t Index(std::size_t lane, RoundIndex round) const {
    return lane * static_cast<std::size_t>(rounds_) + static_cast<std::size_t>(round % rounds_);
  }

  RoundIndex rounds_;
  std::vector<Nanoseconds> ends_;
};

struct Recurrence {
  RoundIndex rounds = 0;  // > 0
  Nanoseconds time = 0;
};

// Lanes that depend on each other, in rounds that are all alike.
class RecurrenceFinder {
 public:
  struct LaneProgress {
    std::size_t lane = 0;   // of the history
    RoundIndex latest = 0;  // round of its latest step that has ended
  };

  // Rounds are alike from `begin` on; a step waits for steps at most `lag` rounds before.
  RecurrenceFinder(RoundIndex begin, RoundIndex lag, double tolerance)
      : begin_(begin), lag_(lag), tolerance_(tolerance) {}

  // The least history that serves: periods of up to kPeriodMax rounds are found.
  static RoundIndex HistoryRounds(RoundIndex lag) { return kPeriodMax + Window(lag, kPeriodMax); }

  void Clear() { samples_.clear(); }
  // Returns how long ago all lanes stood as they do, if they did. Called once a round, which
  // ascends, at an instant that repeats itself if the lanes do.
  std::optional<Recurrence> Find(const StepHistory& history, std::span<const LaneProgress> lanes,
                                 RoundIndex round, Nanoseconds now);

 private:
  static constexpr RoundIndex kPeriodMax = 6;
  struct Sample {
    RoundIndex round = 0;
    Nanoseconds time = 0;
  };

  // As many rounds decide what follows.
  static RoundIndex Window(RoundIndex lag, RoundIndex period);
  bool Repeats(const StepHistory& history, std::span<const LaneProgress> lanes,
               const Recurrence& recurrence) const;

  RoundIndex begin_;
  RoundIndex lag_;
  double tolerance_;
  std::deque<Sample> samples_;
};

}  // namespace reshard
