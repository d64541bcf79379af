// Where the ranks of the host backend meet: all of one process, their steps run by a few workers.
//
// A rank is no thread of its own (a job has hundreds, a machine a few cores) but three lanes whose
// steps become ready as the plan's order lets them. A pack or unpack step is run by one worker. An
// exchange step posts its sends and receives; each pair whose two ends are posted is copied by a
// worker, in any order, and the step ends with its last operation: NCCL's group semantics. An end
// whose other end is never posted waits, until its rank gives up.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "runtime/backend.h"
#include "runtime/lowering.h"

namespace reshard {

struct HostOptions {
  // Threads that run steps; 0: one per core.
  int workers = 0;
  // With a seed there are no workers: whoever waits runs the ready work, one piece at a time, in an
  // order drawn from the seed. It uses every freedom the plan leaves, so that a plan with a wait
  // too few gives wrong bytes, and gives them again with the same seed.
  std::optional<std::uint64_t> interleaving_seed;
};

class HostExchange {
 public:
  static Result<std::shared_ptr<HostExchange>> Make(RankIndex rank_count, HostOptions options);
  virtual ~HostExchange() = default;

  // As in Backend, for rank `rank`. All may be called from any thread.
  virtual Result<void> Join(RankIndex rank, LoweredRank lowered, std::vector<std::byte*> bases,
                            const std::string& job_digest) = 0;
  virtual void RecordSteps(RankIndex rank) = 0;
  virtual std::vector<StepTime> StepTimes(RankIndex rank) const = 0;
  virtual Result<void> Start(RankIndex rank, std::uint64_t version) = 0;
  virtual Result<ReplayProgress> WaitFor(RankIndex rank, std::chrono::nanoseconds timeout) = 0;
  virtual ReplayStatus Status(RankIndex rank) const = 0;
  virtual StopResult Stop(RankIndex rank, std::chrono::nanoseconds grace) = 0;
  // Undoes Join. Precondition: the rank is stopped or done.
  virtual void Leave(RankIndex rank) = 0;
};

}  // namespace reshard
