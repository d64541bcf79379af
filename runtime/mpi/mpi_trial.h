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

  // Every byte of this rank's parameters, and the content digests of its fragments against those of
  // their holders. The error names the lowest rank with a wrong byte, on every rank.
  Result<void> Check(std::uint64_t refit) const;

 private:
  MpiTrial(const Plan& plan, const MpiWorld& world, std::chrono::nanoseconds deadline,
           TrialMemory memory, Engine engine);

  std::span<const std::byte* const> SourceBases() const;
  std::span<const std::byte* const> DestinationBases() const;

  MpiWorld world_;
  std::chrono::nanoseconds deadline_;  // for agreeing on anything
  std::size_t source_parameters_ = 0;
  TrialMemory memory_;  // outlives the engine that is bound to it
  Engine engine_;
  std::vector<const std::byte*> bases_;  // source parameters, then destination parameters
  ContentCheck content_;
  std::vector<std::uint64_t> held_digests_;  // of the refit filled last: it may overwrite them
};

}  // namespace reshard
