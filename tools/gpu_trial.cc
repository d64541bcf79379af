#include "tools/gpu_trial.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "runtime/nccl/communicator.h"
#include "runtime/nccl/nccl_trial.h"
#include "runtime/nccl/rendezvous.h"

namespace reshard {

Result<GpuTrial> GpuTrial::Make(const Plan& plan, std::chrono::nanoseconds deadline,
                                bool checks_placement) {
  const Result<ProcessPlace> place = ReadProcessPlace();
  if (!place) return tl::unexpected(place.error());
  if (static_cast<std::size_t>(place->rank_count) != plan.job.ranks.size()) {
    return InputError("WORLD_SIZE",
                      "is " + std::to_string(place->rank_count) + ", the plan has " +
                          std::to_string(plan.job.ranks.size()) + " ranks",
                      "start one process for each rank of the plan");
  }
  UniqueId id = {};
  if (place->rank == 0) {
    const Result<UniqueId> made = MakeUniqueId();
    if (!made) return tl::unexpected(made.error());
    id = *made;
  }
  const Result<std::string> bytes = Broadcast(*place, std::string(id.data(), id.size()), deadline);
  if (!bytes) return tl::unexpected(bytes.error());
  std::copy(bytes->begin(), bytes->end(), id.begin());
  Result<NcclTrial> trial =
      NcclTrial::Make(plan, place->rank, {id, place->device, deadline, checks_placement});
  if (!trial) return tl::unexpected(trial.error());
  GpuTrial made;
  made.rank_ = place->rank;
  made.trial_ = std::make_shared<NcclTrial>(*std::move(trial));
  return made;
}

void GpuTrial::Fill(std::uint64_t refit) { trial_->Fill(refit); }

Result<double> GpuTrial::Replay(std::uint64_t refit, std::chrono::nanoseconds deadline) {
  return trial_->Replay(refit, deadline);
}

Result<void> GpuTrial::Check(std::uint64_t refit) { return trial_->Check(refit); }

Result<void> GpuTrial::RecordSteps() { return trial_->RecordSteps(); }
Result<std::vector<StepTime>> GpuTrial::StepTimes() { return trial_->StepTimes(); }

}  // namespace reshard
