// Which step of which lane of a rank may start: the plan's order and nothing more.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "schedules/plan.h"

namespace reshard {

// Steps of one lane run in order, one at a time; step r of a lane starts after step r - lag of the
// lane it waits on has ended.
class LaneProgress {
 public:
  LaneProgress() = default;
  LaneProgress(std::span<const Wait> waits, RoundIndex round_count)
      : waits_(waits.begin(), waits.end()), round_count_(round_count) {}

  // Whether the lane's next step may start now.
  bool CanBegin(Lane lane) const;
  // Starts it and returns its number. Precondition: CanBegin(lane).
  RoundIndex Begin(Lane lane) { return begun_[Index(lane)]++; }
  // Ends the step that runs. Precondition: IsRunning(lane).
  void End(Lane lane) { ++ended_[Index(lane)]; }

  bool IsRunning(Lane lane) const { return begun_[Index(lane)] > ended_[Index(lane)]; }
  // The step that runs, or else the next one.
  RoundIndex CurrentStep(Lane lane) const { return ended_[Index(lane)]; }
  bool IsDone() const;

 private:
  static std::size_t Index(Lane lane) { return static_cast<std::size_t>(lane); }

  std::vector<Wait> waits_;
  RoundIndex round_count_ = 0;
  std::array<RoundIndex, kLaneCount> begun_ = {};
  std::array<RoundIndex, kLaneCount> ended_ = {};
};

}  // namespace reshard
