// One rank of a plan on its GPU, in a process of its own, replayed on made-up weights over NCCL.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "foundation/error.h"
#include "runtime/engine.h"
#include "runtime/nccl/communicator.h"
#include "runtime/trial_content.h"
#include "schedules/plan.h"

namespace reshard {

class DeviceMirror;

// All ranks call the same functions in the same order.
class NcclTrial {
 public:
  struct Options {
    UniqueId id = {};
    int device = 0;                                                // becomes this thread's GPU
    std::chrono::nanoseconds deadline = std::chrono::seconds(60);  // of preparing and agreeing
    bool checks_placement = true;
  };

  // `plan` has passed Verify() and outlives the trial.
  static Result<NcclTrial> Make(const Plan& plan, RankIndex rank, const Options& options);
  static Result<NcclTrial> Make(Plan&& plan, RankIndex rank, const Options& options) = delete;
  NcclTrial(NcclTrial&&) noexcept;
  NcclTrial& operator=(NcclTrial&&) = delete;
  // Frees nothing after failed(abandoned): something may still write to it.
  ~NcclTrial();

  // As in TrialReplay, for this rank. What goes wrong in Fill is what the next Replay returns.
  void Fill(std::uint64_t refit);
  Result<double> Replay(std::uint64_t refit, std::chrono::nanoseconds deadline);
  // Content digests of the rank's fragments, computed on the device, against those of their
  // holders, and every byte of its parameters, copied to the host. The error names the lowest rank
  // with a wrong byte, on every rank.
  Result<void> Check(std::uint64_t refit);

  // Opt-in: from the next replay on StepTimes() tells when each step ran.
  Result<void> RecordSteps();
  // Of the last replay, of all ranks, on all of them: in the order of their ends, from the start of
  // the first step. Clocks of ranks are set where they meet before the replay: as far apart as the
  // ends of one small collective.
  Result<std::vector<StepTime>> StepTimes();

  // For tests: the rank's parameters on the device.
  DeviceMirror& mirror();

 private:
  struct State;
  explicit NcclTrial(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace reshard
