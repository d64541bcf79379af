// One rank of a plan on its GPU, in a process of its own, replayed on made-up weights over NCCL.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "foundation/error.h"
#include "runtime/engine.h"
#include "runtime/nccl/communicator.h"
#include "runtime/trial_content.h"
#include "schedules/plan.h"

namespace reshard {

// All ranks call the same functions in the same order.
class NcclTrial {
 public:
  // `plan` has passed Verify() and outlives the trial. `device` becomes this thread's GPU.
  static Result<NcclTrial> Make(const Plan& plan, RankIndex rank, const UniqueId& id, int device,
                                std::chrono::nanoseconds deadline);
  static Result<NcclTrial> Make(Plan&& plan, RankIndex rank, const UniqueId& id, int device,
                                std::chrono::nanoseconds deadline) = delete;
  NcclTrial(NcclTrial&&) noexcept;
  NcclTrial& operator=(NcclTrial&&) = delete;
  // Frees nothing after failed(abandoned): something may still write to it.
  ~NcclTrial();

  // As in TrialReplay, for this rank. What goes wrong in Fill is what the next Replay returns.
  void Fill(std::uint64_t refit);
  Result<double> Replay(std::uint64_t refit, std::chrono::nanoseconds deadline);
  // Every byte of the rank's parameters, copied to the host.
  Result<void> Check(std::uint64_t refit);

 private:
  struct State;
  explicit NcclTrial(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace reshard
