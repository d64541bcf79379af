// A whole job replayed in one process on made-up weights: every rank an engine on the host backend.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "foundation/error.h"
#include "runtime/engine.h"
#include "runtime/host_exchange.h"
#include "runtime/trial_content.h"
#include "schedules/plan.h"

namespace reshard {

class TrialReplay {
 public:
  // Memory a trial of `plan` needs: parameters and staging of all ranks, and one parameter to
  // compare with. Copy tables are small beside it.
  static Result<std::int64_t> BytesNeeded(const Plan& plan);

  // Opens and binds an engine for every rank. `plan` has passed Verify() and outlives the trial.
  static Result<TrialReplay> Make(const Plan& plan, HostOptions options);
  static Result<TrialReplay> Make(Plan&& plan, HostOptions options) = delete;

  // Fills the source parameters with the values of `refit`, all else with the untouched pattern.
  void Fill(std::uint64_t refit);
  // Replays once on all ranks, as version `refit`; seconds from the first start to the last end.
  // The error is that of the lowest rank that failed.
  Result<double> Replay(std::uint64_t refit, std::chrono::nanoseconds deadline);
  // Opt-in: from the next replay on StepTimes() tells when each step ran.
  Result<void> RecordSteps();
  // Of the last replay, if all ranks have installed it: in the order of their ends, from the start
  // of the first step.
  std::vector<StepTime> StepTimes() const;
  // TrialMemory::Check on every rank.
  Result<void> Check(std::uint64_t refit) const;

  Engine& engine(RankIndex rank) { return engines_[static_cast<std::size_t>(rank)]; }
  TrialMemory& memory(RankIndex rank) { return memories_[static_cast<std::size_t>(rank)]; }
  const TrialMemory& memory(RankIndex rank) const {
    return memories_[static_cast<std::size_t>(rank)];
  }

 private:
  TrialReplay() = default;

  std::vector<TrialMemory> memories_;  // outlive the engines that are bound to them
  std::vector<Engine> engines_;
};

}  // namespace reshard
