#include "tools/gpu_trial.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/mpi/mpi_world.h"
#include "runtime/nccl/communicator.h"
#include "runtime/nccl/nccl_trial.h"
#include "runtime/nccl/rendezvous.h"

namespace reshard {

namespace {

Result<ProcessPlace> PlaceOf(const MpiWorld& world) {
  const Result<int> device = world.LocalRank();
  if (!device) return tl::unexpected(device.error());
  ProcessPlace place;
  place.rank = world.rank();
  place.rank_count = world.size();
  place.device = *device;
  return place;
}

// Of rank 0, over MPI: the others say what any id is the minimum of.
Result<void> HandRound(UniqueId& id, const MpiWorld& world, std::chrono::nanoseconds deadline) {
  std::array<std::uint64_t, sizeof(UniqueId) / sizeof(std::uint64_t)> words;
  words.fill(~std::uint64_t{0});
  if (world.rank() == 0) std::memcpy(words.data(), id.data(), id.size());
  Result<void> done = world.MinimumOverRanks(words, deadline, "handing round NCCL's unique id");
  if (done) std::memcpy(id.data(), words.data(), id.size());
  return done;
}

Result<void> HandRound(UniqueId& id, const ProcessPlace& place, std::chrono::nanoseconds deadline) {
  const Result<std::string> bytes = Broadcast(place, std::string(id.data(), id.size()), deadline);
  if (!bytes) return tl::unexpected(bytes.error());
  std::copy(bytes->begin(), bytes->end(), id.begin());
  return {};
}

}  // namespace

Result<GpuTrial> GpuTrial::Make(const Plan& plan, const MpiWorld* world,
                                std::chrono::nanoseconds deadline, bool checks_placement) {
  const Result<ProcessPlace> place = world != nullptr ? PlaceOf(*world) : ReadProcessPlace();
  if (!place) return tl::unexpected(place.error());
  if (static_cast<std::size_t>(place->rank_count) != plan.job.ranks.size()) {
    return InputError(world != nullptr ? "mpirun -n" : "WORLD_SIZE",
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
  const Result<void> known =
      world != nullptr ? HandRound(id, *world, deadline) : HandRound(id, *place, deadline);
  if (!known) return tl::unexpected(known.error());
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
