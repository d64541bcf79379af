// What carries out the lowered work of one rank: threads of one process, MPI, NCCL.
//
// The engine calls a backend from one thread at a time, in this order: AllocateStaging and Prepare
// once, then for each refit Start and WaitFor until it is done, has failed, or is given up with
// Stop.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "runtime/lowering.h"
#include "schedules/replay_record.h"

namespace reshard {

enum class ReplayProgress { kRunning, kDone };

// Where a replay stands that has not ended in time.
struct ReplayStatus {
  RoundIndex round = 0;          // of the exchange lane, or of the lane it waits for
  std::vector<RankIndex> peers;  // whose sends or receives of that round are missing, ascending
  std::string waiting_for;       // in words: "ranks 3, 7 in its exchange", "its own pack step"
};

enum class StopResult {
  kStopped,    // nothing of the replay runs any more; memory may be freed
  kAbandoned,  // something may still write to staging and parameters; never free them
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // Device memory for staging, owned by the backend until it is destroyed. Contents undefined.
  virtual Result<std::byte*> AllocateStaging(std::int64_t bytes) = 0;

  // Takes what a replay does: `bases` are the addresses of the rank's bases (LoweredRank). A replay
  // allocates no device memory. `job_digest` tells ranks apart that loaded plans of different jobs.
  virtual Result<void> Prepare(LoweredRank lowered, std::vector<std::byte*> bases,
                               const std::string& job_digest) = 0;

  // Opt-in, after Prepare: from the next replay on the backend keeps when each step ran. A backend
  // that cannot says so.
  virtual Result<void> RecordSteps() {
    return InputError("backend", "it keeps no times of steps", "replay without them");
  }
  // Steps of the last replay that is done, in the order of their ends, on a clock that all ranks of
  // the process share; empty unless they are kept.
  virtual std::vector<StepTime> StepTimes() const { return {}; }

  // Begins the replay of `version` and returns at once.
  virtual Result<void> Start(std::uint64_t version) = 0;

  // Waits until the replay is done or has failed, at most for `timeout`.
  virtual Result<ReplayProgress> WaitFor(std::chrono::nanoseconds timeout) = 0;

  virtual ReplayStatus Status() const = 0;

  // Ends a replay that was not done; waits at most `grace` for what cannot be interrupted.
  virtual StopResult Stop(std::chrono::nanoseconds grace) = 0;
};

}  // namespace reshard
