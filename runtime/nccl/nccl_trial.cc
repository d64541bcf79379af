#include "runtime/nccl/nccl_trial.h"

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <utility>

#include "runtime/nccl/abandoned_memory.h"
#include "runtime/nccl/cuda_status.h"
#include "runtime/nccl/device_mirror.h"
#include "runtime/nccl/nccl_backend.h"
#include "schedules/rank_part.h"

namespace reshard {

struct NcclTrial::State {
  explicit State(TrialMemory trial_memory) : memory(std::move(trial_memory)) {}

  TrialMemory memory;
  Result<void> filled;
  std::optional<DeviceMirror> mirror;
  std::shared_ptr<Communicator> communicator;
  std::optional<Engine> engine;  // goes before what it is bound to
};

NcclTrial::NcclTrial(std::unique_ptr<State> state) : state_(std::move(state)) {}
NcclTrial::NcclTrial(NcclTrial&&) noexcept = default;

NcclTrial::~NcclTrial() {
  if (state_ == nullptr) return;  // moved from
  Engine& engine = *state_->engine;
  // Ends what runs, to know whether it could be ended.
  if (engine.state().phase == EnginePhase::kRunning) {
    static_cast<void>(engine.WaitFor(std::chrono::nanoseconds(0)));
  }
  if (engine.state().phase != EnginePhase::kFailedAbandoned) return;
  Abandon({}, std::shared_ptr<State>(std::move(state_)));
}

Result<NcclTrial> NcclTrial::Make(const Plan& plan, RankIndex rank, const UniqueId& id, int device,
                                  std::chrono::nanoseconds deadline) {
  const std::string place = "rank " + std::to_string(rank);
  const Result<void> chosen =
      CheckCuda(cudaSetDevice(device), place, "GPU " + std::to_string(device) + " cannot be used",
                "start as many processes on a machine as it has GPUs");
  if (!chosen) return tl::unexpected(chosen.error());
  Result<TrialMemory> memory = TrialMemory::Make(plan.job, rank);
  if (!memory) return tl::unexpected(memory.error());
  auto state = std::make_unique<State>(*std::move(memory));
  Result<DeviceMirror> mirror = DeviceMirror::Make(state->memory, place);
  if (!mirror) return tl::unexpected(mirror.error());
  state->mirror = *std::move(mirror);

  CommunicatorOptions options;
  options.id = id;
  options.rank = rank;
  options.rank_count = static_cast<RankIndex>(plan.job.ranks.size());
  options.peers_max = plan.certificate.peers_max;
  options.deadline = deadline;
  Result<std::shared_ptr<Communicator>> communicator = Communicator::Make(options);
  if (!communicator) return tl::unexpected(communicator.error());
  state->communicator = *std::move(communicator);

  RankPart part = ExtractRankPart(plan, rank);
  NcclOptions nccl;
  nccl.prepare_deadline = deadline;
  Result<std::unique_ptr<NcclBackend>> backend =
      NcclBackend::Make(part, state->communicator, std::move(nccl));
  if (!backend) return tl::unexpected(backend.error());
  Result<Engine> engine = Engine::Open(std::move(part), *std::move(backend));
  if (!engine) return tl::unexpected(engine.error());
  state->engine.emplace(*std::move(engine));
  const Result<void> bound =
      state->engine->Bind(state->mirror->SourceBuffers(), state->mirror->DestinationBuffers());
  if (!bound) return tl::unexpected(bound.error());
  return NcclTrial(std::move(state));
}

void NcclTrial::Fill(std::uint64_t refit) { state_->filled = state_->mirror->Fill(refit); }

Result<double> NcclTrial::Replay(std::uint64_t refit, std::chrono::nanoseconds deadline) {
  const auto start = std::chrono::steady_clock::now();
  Result<void> done = state_->filled;
  if (done) done = state_->engine->Replay(refit);
  if (done) done = state_->engine->WaitFor(deadline);
  if (!done) return tl::unexpected(done.error());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<void> NcclTrial::Check(std::uint64_t refit) { return state_->mirror->Check(refit); }

}  // namespace reshard
