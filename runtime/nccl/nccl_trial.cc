#include "runtime/nccl/nccl_trial.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "runtime/content_check.h"
#include "runtime/conversion_lowering.h"
#include "runtime/deadline.h"
#include "runtime/nccl/abandoned_memory.h"
#include "runtime/nccl/cuda_status.h"
#include "runtime/nccl/device_digests.h"
#include "runtime/nccl/device_mirror.h"
#include "runtime/nccl/nccl_backend.h"
#include "runtime/nccl/rank_exchange.h"
#include "runtime/step_gathering.h"
#include "schedules/rank_part.h"

namespace reshard {

namespace {

constexpr std::chrono::microseconds kPollInterval{50};
constexpr std::chrono::milliseconds kStopGrace{500};

}  // namespace

// Declared in the order in which the members may go, last first.
struct NcclTrial::State {
  State(const Plan& plan, RankIndex rank, TrialMemory trial_memory)
      : place("rank " + std::to_string(rank)),
        memory(std::move(trial_memory)),
        content(plan, rank) {}

  std::string place;
  std::chrono::nanoseconds deadline{0};  // for agreeing on anything
  TrialMemory memory;
  std::optional<DeviceMirror> mirror;
  ContentCheck content;
  std::optional<DeviceDigests> held;  // none where the source computes tensors
  std::optional<DeviceDigests> needed;
  std::vector<std::uint64_t> held_digests;  // of the refit filled last: it may overwrite them
  // Source parameters and conversions only, and where they are on the host: what is computed is
  // digested there, by the twin of what the device sends.
  RankPart computed;
  std::vector<std::byte*> host_sources;
  Result<void> filled;
  std::shared_ptr<Communicator> communicator;
  std::unique_ptr<RankExchange> exchange;
  std::optional<Engine> engine;
  bool records_steps = false;
  std::chrono::steady_clock::time_point zero;  // where the clocks of the ranks meet
  bool is_abandoned = false;

  // Ends what a collective that failed has left on the device.
  void StopExchange() {
    bool is_over = communicator->Stop(kStopGrace);
    const auto end = std::chrono::steady_clock::now() + kStopGrace;
    while (is_over && !exchange->IsIdle()) {
      std::this_thread::sleep_for(kPollInterval);
      is_over = std::chrono::steady_clock::now() < end;
    }
    is_abandoned = !is_over;
  }
  Result<void> MakeDigests(const RankPart& part);
  Result<void> Bind(RankPart part, bool checks_placement);
  Result<void> MinimumOverRanks(std::span<std::uint64_t> values, const std::string& what) {
    Result<void> done = exchange->MinimumOverRanks(values, DeadlineAfter(deadline), what);
    if (!done) StopExchange();
    return done;
  }
};

NcclTrial::NcclTrial(std::unique_ptr<State> state) : state_(std::move(state)) {}
NcclTrial::NcclTrial(NcclTrial&&) noexcept = default;

NcclTrial::~NcclTrial() {
  if (state_ == nullptr) return;  // moved from
  if (state_->engine->state().phase != EnginePhase::kFailedAbandoned && !state_->is_abandoned)
    return;
  Abandon({}, std::shared_ptr<State>(std::move(state_)));
}

Result<NcclTrial> NcclTrial::Make(const Plan& plan, RankIndex rank, const Options& options) {
  const std::string place = "rank " + std::to_string(rank);
  const Result<void> chosen = CheckCuda(cudaSetDevice(options.device), place,
                                        "GPU " + std::to_string(options.device) + " cannot be used",
                                        "start as many processes on a machine as it has GPUs");
  if (!chosen) return tl::unexpected(chosen.error());
  Result<TrialMemory> memory = TrialMemory::Make(plan.job, rank);
  if (!memory) return tl::unexpected(memory.error());
  auto state = std::make_unique<State>(plan, rank, *std::move(memory));
  state->deadline = options.deadline;
  Result<DeviceMirror> mirror = DeviceMirror::Make(state->memory, place);
  if (!mirror) return tl::unexpected(mirror.error());
  state->mirror = *std::move(mirror);

  CommunicatorOptions wanted;
  wanted.id = options.id;
  wanted.rank = rank;
  wanted.rank_count = static_cast<RankIndex>(plan.job.ranks.size());
  wanted.channels = plan.channels;
  wanted.deadline = options.deadline;
  Result<std::shared_ptr<Communicator>> communicator = Communicator::Make(wanted);
  if (!communicator) return tl::unexpected(communicator.error());
  state->communicator = *std::move(communicator);

  RankPart part = ExtractRankPart(plan, rank);
  Result<void> done = state->MakeDigests(part);
  if (done) done = state->Bind(std::move(part), options.checks_placement);
  if (!done) return tl::unexpected(done.error());
  return NcclTrial(std::move(state));
}

Result<void> NcclTrial::State::MakeDigests(const RankPart& part) {
  const Result<std::vector<std::byte*>> addresses =
      MatchBuffers(part, mirror->SourceBuffers(), mirror->DestinationBuffers());
  if (!addresses) return tl::unexpected(addresses.error());
  const std::size_t sources = part.source_parameters.size();
  if (!part.source_conversions.empty()) {
    const Result<std::vector<std::byte*>> on_host =
        MatchBuffers(part, memory.SourceBuffers(), memory.DestinationBuffers());
    if (!on_host) return tl::unexpected(on_host.error());
    host_sources.assign(on_host->begin(), on_host->begin() + static_cast<std::ptrdiff_t>(sources));
    computed.source_parameters = part.source_parameters;
    computed.source_conversions = part.source_conversions;
  }
  for (const auto& [digests, table, bases] :
       {std::tuple(&held, &content.held(), std::span(*addresses).first(sources)),
        std::tuple(&needed, &content.needed(), std::span(*addresses).subspan(sources))}) {
    // Where the source computes tensors, the host digests what is held.
    if (digests == &held && !part.source_conversions.empty()) continue;
    Result<DeviceDigests> made = DeviceDigests::Make(*table, bases, place);
    if (!made) return tl::unexpected(made.error());
    *digests = *std::move(made);
  }
  return {};
}

Result<void> NcclTrial::State::Bind(RankPart part, bool checks_placement) {
  NcclOptions nccl;
  nccl.checks_placement = checks_placement;
  nccl.prepare_deadline = deadline;
  Result<std::unique_ptr<NcclBackend>> backend =
      NcclBackend::Make(part, communicator, std::move(nccl));
  if (!backend) return tl::unexpected(backend.error());
  Result<Engine> opened = Engine::Open(std::move(part), *std::move(backend));
  if (!opened) return tl::unexpected(opened.error());
  engine.emplace(*std::move(opened));
  Result<std::unique_ptr<RankExchange>> made = RankExchange::Make(place, *communicator);
  if (!made) return tl::unexpected(made.error());
  exchange = *std::move(made);
  return engine->Bind(mirror->SourceBuffers(), mirror->DestinationBuffers());
}

void NcclTrial::Fill(std::uint64_t refit) {
  state_->filled = state_->mirror->Fill(refit);
  if (!state_->filled) return;
  if (!state_->held) {
    state_->held_digests =
        DigestSources(state_->content.held(), state_->computed, state_->host_sources);
    return;
  }
  Result<std::vector<std::uint64_t>> held = state_->held->Run();
  if (held) {
    state_->held_digests = *std::move(held);
  } else {
    state_->filled = tl::unexpected(held.error());
  }
}

Result<double> NcclTrial::Replay(std::uint64_t refit, std::chrono::nanoseconds deadline) {
  Result<void> done = state_->filled;
  std::uint64_t nothing[] = {0};
  if (done && state_->records_steps) {
    done = state_->MinimumOverRanks(nothing, "meeting before the replay");
  }
  state_->zero = std::chrono::steady_clock::now();
  if (done) done = state_->engine->Replay(refit);
  if (done) done = state_->engine->WaitFor(deadline);
  if (!done) return tl::unexpected(done.error());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - state_->zero).count();
}

Result<void> NcclTrial::Check(std::uint64_t refit) {
  // Also where this rank fails before it: the others wait for it in the comparison.
  Result<void> own_bytes = state_->mirror->Check(refit);
  Result<std::vector<std::uint64_t>> needed = state_->needed->Run();
  if (!needed) own_bytes = tl::unexpected(needed.error());
  const std::vector<std::uint64_t> digests =
      needed ? *std::move(needed) : std::vector<std::uint64_t>();
  return state_->content.Run(state_->held_digests, digests, own_bytes,
                             [this](std::span<std::uint64_t> values, const std::string& what) {
                               return state_->MinimumOverRanks(values, what);
                             });
}

Result<void> NcclTrial::RecordSteps() {
  state_->records_steps = true;
  return state_->engine->RecordSteps();
}

Result<std::vector<StepTime>> NcclTrial::StepTimes() {
  const auto zero =
      std::chrono::duration_cast<std::chrono::nanoseconds>(state_->zero.time_since_epoch());
  return GatherSteps(state_->engine->StepTimes(), zero.count(), state_->engine->rank(),
                     state_->communicator->rank_count(),
                     [this](std::span<std::uint64_t> values, const std::string& what) {
                       return state_->MinimumOverRanks(values, what);
                     });
}

DeviceMirror& NcclTrial::mirror() { return *state_->mirror; }

}  // namespace reshard
