// One rank of a plan, in a process of its own, replayed on made-up weights over MPI.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "foundation/error.h"
#include "runtime/content_check.h"
#include "runtime/engine.h"
#include "runtime/mpi/mpi_world.h"
#include "runtime/trial_content.h"
#include "schedules/plan.h"
#include "schedules/replay_record.h"

namespace reshard {

// All ranks call the same functions in the same order. After an error a process leaves by _exit.
class MpiTrial {
 public:
  // Bytes this rank needs: its parameters, one to compare with, and staging.
  static Result<std::int64_t> BytesNeeded(const Plan& plan, RankIndex rank);

  // `plan` has passed Verify() and outlives the trial.
  static Result<MpiTrial> Make(const Plan& plan, const MpiWorld& world,
                               std::chrono::nanoseconds deadline);
  static Result<MpiTrial> Make(Plan&& plan, const MpiWorld& world,
                               std::chrono::nanoseconds deadline) = delete;

  // As in TrialReplay, for this rank.
  void Fill(std::uint64_t refit);
  // Seconds from the start of this rank's replay to its commit, with the
  // time it waits for ranks that start later.
  Result<double> Replay(std::uint64_t refit, std::chrono::nanoseconds deadline);

  // Opt-in: from the next replay on StepTimes() tells when each step ran.
  Result<void> RecordSteps();
  // Of the last replay, of all ranks, on all of them: in the order of their ends, from the start of
  // the first step. Clocks of ranks are set where they meet before the replay: as far apart as the
  // ends of one small collective.
  Result<std::vector<StepTime>> StepTimes() const;

  // Every byte of this rank's parameters, and the content digests of its fragments against those of
  // their holders. The error names the lowest rank with a wrong byte, on every rank.
  Result<void> Check(std::uint64_t refit) const;

 private:
  MpiTrial(const Plan& plan, const MpiWorld& world, std::chrono::nanoseconds deadline,
           TrialMemory memory, Engine engine);

  std::span<const std::byte* const> DestinationBases() const;

  Result<void> Minimum(std::span<std::uint64_t> values, const std::string& what) const {
    return world_.MinimumOverRanks(values, deadline_, what);
  }

  MpiWorld world_;
  std::chrono::nanoseconds deadline_;  // for agreeing on anything
  std::size_t source_parameters_ = 0;
  TrialMemory memory_;  // outlives the engine that is bound to it
  Engine engine_;
  std::vector<std::byte*> bases_;  // source parameters, then destination parameters
  RankPart computed_;              // source parameters and conversions only
  ContentCheck content_;
  bool records_steps_ = false;
  std::chrono::steady_clock::time_point zero_;  // where the clocks of the ranks meet
  std::vector<std::uint64_t> held_digests_;     // of the refit filled last: it may overwrite them
};

}  // namespace reshard
