// This process as one rank of `reshard-replay --backend nccl`.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "foundation/error.h"
#include "schedules/plan.h"
#include "schedules/replay_record.h"

namespace reshard {

class MpiWorld;
class NcclTrial;

class GpuTrial {
 public:
  // Takes its rank and GPU from MPI where `world` is not null, else from RANK, WORLD_SIZE,
  // LOCAL_RANK, MASTER_ADDR and MASTER_PORT (runtime/nccl/rendezvous.h). All ranks together; `plan`
  // outlives the trial. An error where the command was built without NCCL.
  static Result<GpuTrial> Make(const Plan& plan, const MpiWorld* world,
                               std::chrono::nanoseconds deadline, bool checks_placement);

  // As in TrialReplay, for this rank.
  void Fill(std::uint64_t refit);
  Result<double> Replay(std::uint64_t refit, std::chrono::nanoseconds deadline);
  Result<void> Check(std::uint64_t refit);
  // As in NcclTrial: collective, the steps of all ranks.
  Result<void> RecordSteps();
  Result<std::vector<StepTime>> StepTimes();
  RankIndex rank() const { return rank_; }

 private:
  RankIndex rank_ = 0;
  std::shared_ptr<NcclTrial> trial_;
};

}  // namespace reshard
