#include "runtime/nccl/nccl_backend.h"

#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <type_traits>
#include <utility>

#include "kernels/device_image.h"
#include "runtime/deadline.h"
#include "runtime/nccl/abandoned_memory.h"
#include "runtime/nccl/commit_tree.h"
#include "runtime/nccl/cuda_status.h"
#include "runtime/nccl/device_resources.h"
#include "runtime/nccl/rank_exchange.h"
#include "runtime/nccl/replay_recorder.h"
#include "runtime/rank_list.h"

namespace reshard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPrepareStopGrace{500};
// Asking costs little beside a refit of a millisecond; NCCL and CUDA are asked more rarely.
constexpr std::chrono::microseconds kPollInterval{20};
constexpr int kPollsPerHealthCheck = 50;

std::vector<RankIndex> SideOf(const std::vector<RankFacts>& ranks,
                              std::uint32_t RankFacts::*belongs) {
  std::vector<RankIndex> side;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].*belongs != 0) side.push_back(static_cast<RankIndex>(rank));
  }
  return side;
}

std::uint64_t ReadWord(const std::uint64_t& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

}  // namespace

// Declared in the order in which the members may go, last first: what is recorded refers to memory,
// a registration to its communicator.
struct NcclBackend::State {
  std::string place;
  RankPart part;  // without what the engine has: record, rank, counts
  NcclOptions options;
  std::shared_ptr<Communicator> communicator;
  DeviceMemory own_staging;
  std::byte* staging = nullptr;
  std::int64_t staging_bytes = 0;
  std::vector<MemoryRange> ranges;  // staging and parameters
  LoweredRank lowered;
  DeviceMemory image;
  DeviceMemory bases;
  DeviceMemory commit;
  DeviceMemory pack_scratch;  // of conversions, of each lane
  DeviceMemory unpack_scratch;
  std::unique_ptr<HostMarks, HostMemoryDeleter> marks;
  std::unique_ptr<RankExchange> exchange;  // while ranks compare where they sit
  void* registration = nullptr;
  OwnedStream own_stream;
  CUstream_st* stream = nullptr;  // refits are launched here
  std::unique_ptr<ReplayRecorder> recorder;
  OwnedGraphExec graph;
  std::uint64_t refits_begun = 0;
  Clock::time_point launched;  // the last of them

  Result<void> CompareWithOthers(const std::string& job_digest, Clock::time_point deadline,
                                 std::vector<RankFacts>& ranks);
  Result<void> Upload(const std::vector<std::byte*>& base_addresses, RecorderInputs& inputs);
  Result<void> MakeMarks(RecorderInputs& inputs);
  bool IsIdle() const;
  // A refit is over when the device has told the host its number.
  bool IsPublished() const { return ReadWord(marks->refit) >= refits_begun; }
  Result<void> CheckHealth() const;
  ~State();
};

NcclBackend::State::~State() {
  graph.reset();
  recorder.reset();
  if (registration != nullptr && !communicator->is_stopped()) {
    static_cast<void>(ncclCommDeregister(communicator->handle(), registration));
  }
}

bool NcclBackend::State::IsIdle() const {
  if (stream != nullptr && cudaStreamQuery(stream) == cudaErrorNotReady) return false;
  if (exchange != nullptr && !exchange->IsIdle()) return false;
  return recorder == nullptr || recorder->IsIdle();
}

Result<void> NcclBackend::State::CheckHealth() const {
  Result<void> healthy = communicator->CheckHealth();
  if (!healthy) return healthy;
  const cudaError_t status = cudaStreamQuery(stream);
  if (status == cudaErrorNotReady) return {};
  return CheckCuda(status, place, "the refit has failed");
}

Result<void> NcclBackend::State::CompareWithOthers(const std::string& job_digest,
                                                   Clock::time_point deadline,
                                                   std::vector<RankFacts>& ranks) {
  if (!options.machine) {
    int device = 0;
    const Result<void> asked =
        CheckCuda(cudaGetDevice(&device), place, "the current GPU is not known");
    if (!asked) return asked;
    Result<MachineFacts> machine = ReadMachineFacts(device);
    if (!machine) return tl::unexpected(machine.error());
    options.machine = *std::move(machine);
  }
  part.job_digest = job_digest;
  Result<std::unique_ptr<RankExchange>> made = RankExchange::Make(place, *communicator);
  if (!made) return tl::unexpected(made.error());
  exchange = *std::move(made);
  const RankFacts own = FactsOf(part, *options.machine);
  const Result<std::vector<std::byte>> gathered =
      exchange->Gather(std::as_bytes(std::span(&own, 1)), deadline,
                       "comparing the plan and the placement of all ranks");
  if (!gathered) return tl::unexpected(gathered.error());
  exchange.reset();
  ranks.resize(gathered->size() / sizeof(RankFacts));
  std::memcpy(ranks.data(), gathered->data(), gathered->size());
  // Every rank sees the same facts and comes to the same verdict, so all fail or none.
  Result<void> fine = CheckSamePlan(ranks);
  if (fine && options.checks_placement) fine = CheckPlacement(ranks);
  return fine;
}

Result<void> NcclBackend::State::Upload(const std::vector<std::byte*>& base_addresses,
                                        RecorderInputs& inputs) {
  DeviceImage tables;
  const BuffersLocation buffers = AddBuffers(lowered.converted, tables);
  std::int64_t pack_words = 0;
  std::int64_t unpack_words = 0;
  for (const LoweredRound& round : lowered.rounds) {
    inputs.packs.push_back(tables.Add(round.pack));
    inputs.unpacks.push_back(tables.Add(round.unpack));
    inputs.converted_packs.push_back(
        AddConversions(round.converted_pack, lowered.converted, buffers, tables));
    inputs.converted_unpacks.push_back(
        AddConversions(round.converted_unpack, lowered.converted, buffers, tables));
    pack_words = std::max(pack_words, inputs.converted_packs.back().scratch_words);
    unpack_words = std::max(unpack_words, inputs.converted_unpacks.back().scratch_words);
  }
  const CommitState fresh;
  struct Part {
    DeviceMemory* memory;
    std::span<const std::byte> bytes;
    const char* use;
  };
  for (const auto& [memory, bytes, use] :
       {Part{&image, tables.bytes(), "copy tables"},
        Part{&bases, std::as_bytes(std::span(base_addresses)), "addresses"},
        Part{&commit, std::as_bytes(std::span(&fresh, 1)), "the refit counter"}}) {
    Result<DeviceMemory> uploaded = UploadBytes(bytes, place, use);
    if (!uploaded) return tl::unexpected(uploaded.error());
    *memory = *std::move(uploaded);
  }
  for (const auto& [words, memory] :
       {std::pair(pack_words, &pack_scratch), std::pair(unpack_words, &unpack_scratch)}) {
    Result<DeviceMemory> made =
        AllocateDeviceMemory(words * std::int64_t{sizeof(std::uint32_t)}, place, "block scales");
    if (!made) return tl::unexpected(made.error());
    *memory = *std::move(made);
  }
  inputs.pack_scratch = reinterpret_cast<std::uint32_t*>(pack_scratch.get());
  inputs.unpack_scratch = reinterpret_cast<std::uint32_t*>(unpack_scratch.get());
  inputs.tables = {image.get(), reinterpret_cast<std::byte* const*>(bases.get())};
  inputs.commit = reinterpret_cast<CommitState*>(commit.get());
  return {};
}

Result<void> NcclBackend::State::MakeMarks(RecorderInputs& inputs) {
  void* host = nullptr;
  Result<void> done = CheckCuda(cudaHostAlloc(&host, sizeof(HostMarks), cudaHostAllocMapped), place,
                                "no host memory that the GPU can write");
  if (!done) return done;
  marks.reset(new (host) HostMarks);
  void* device = nullptr;
  done = CheckCuda(cudaHostGetDevicePointer(&device, host, 0), place,
                   "host memory cannot be mapped for the GPU");
  inputs.marks = static_cast<HostMarks*>(device);
  return done;
}

Result<std::unique_ptr<NcclBackend>> NcclBackend::Make(const RankPart& part,
                                                       std::shared_ptr<Communicator> communicator,
                                                       NcclOptions options) {
  const std::string place = "rank " + std::to_string(part.rank);
  if (Result<void> in_use = communicator->CheckInUse(); !in_use) {
    return tl::unexpected(in_use.error());
  }
  if (communicator->rank() != part.rank || communicator->rank_count() != part.rank_count) {
    return InputError(place,
                      "its communicator is of rank " + std::to_string(communicator->rank()) +
                          " of " + std::to_string(communicator->rank_count()) +
                          ", its part of the plan of " + std::to_string(part.rank_count),
                      "number the ranks of the communicator as the plan does");
  }
  auto state = std::make_shared<State>();
  state->place = place;
  state->part.rank = part.rank;
  state->part.rank_count = part.rank_count;
  state->part.record = part.record;
  state->part.source_parameters = part.source_parameters;
  state->communicator = std::move(communicator);
  state->options = std::move(options);
  return std::unique_ptr<NcclBackend>(new NcclBackend(std::move(state)));
}

NcclBackend::~NcclBackend() = default;

void NcclBackend::UseStream(CUstream_st* stream) { state_->stream = stream; }

CUevent_st* NcclBackend::source_released() const {
  return state_->recorder == nullptr ? nullptr : state_->recorder->source_released();
}

Result<std::byte*> NcclBackend::AllocateStaging(std::int64_t bytes) {
  const NcclOptions& options = state_->options;
  state_->staging_bytes = bytes;
  if (options.staging != nullptr) {
    if (options.staging_bytes < bytes) {
      return InputError(state_->place,
                        "is given " + std::to_string(options.staging_bytes) +
                            " bytes of staging, its part of the plan needs " +
                            std::to_string(bytes),
                        "give more, or lower options.stagingMiB and compile again");
    }
    state_->staging = options.staging;
    return state_->staging;
  }
  Result<DeviceMemory> made = AllocateDeviceMemory(
      bytes, state_->place, "staging", "free some, or lower options.stagingMiB and compile again");
  if (!made) return tl::unexpected(made.error());
  state_->own_staging = *std::move(made);
  state_->staging = state_->own_staging.get();
  return state_->staging;
}

Result<void> NcclBackend::Prepare(LoweredRank lowered, std::vector<std::byte*> bases,
                                  const std::string& job_digest) {
  Result<void> prepared = PrepareState(std::move(lowered), std::move(bases), job_digest);
  if (prepared) return prepared;
  // What waits for a peer would write to memory that goes with this object: a comparison with other
  // ranks that is not over, a communicator that is not connected.
  Communicator& communicator = *state_->communicator;
  if (communicator.is_stopped()) return prepared;
  if (state_->exchange != nullptr || !communicator.Settle(Clock::now(), "preparing")) {
    Stop(kPrepareStopGrace);
  }
  return prepared;
}

Result<void> NcclBackend::PrepareState(LoweredRank lowered, std::vector<std::byte*> bases,
                                       const std::string& job_digest) {
  State& state = *state_;
  const Clock::time_point deadline = DeadlineAfter(state.options.prepare_deadline);
  state.lowered = std::move(lowered);
  for (std::size_t b = 0; b < bases.size(); ++b) {
    state.ranges.push_back({bases[b], state.lowered.base_bytes[b]});
  }
  Result<void> done = state.communicator->CheckInUse();
  if (done) done = CheckNotAbandoned(state.ranges, state.place);
  std::vector<RankFacts> ranks;
  if (done) done = state.CompareWithOthers(job_digest, deadline, ranks);
  RecorderInputs inputs;
  if (done) done = state.Upload(bases, inputs);
  if (done) done = state.MakeMarks(inputs);
  if (done && state.staging_bytes > 0) {
    done = CheckNccl(
        ncclCommRegister(state.communicator->handle(), state.staging,
                         static_cast<std::size_t>(state.staging_bytes), &state.registration),
        state.place, "staging cannot be registered");
  }
  if (!done) return done;
  if (state.options.stream == nullptr) {
    Result<OwnedStream> made = MakeStream(state.place);
    if (!made) return tl::unexpected(made.error());
    state.own_stream = *std::move(made);
  }
  if (state.stream == nullptr) {
    state.stream = state.options.stream != nullptr ? state.options.stream : state.own_stream.get();
  }
  inputs.place = state.place;
  inputs.lowered = &state.lowered;
  inputs.staging = state.staging;
  inputs.communicator = state.communicator.get();
  inputs.first_destination_base = static_cast<BaseIndex>(1 + state.part.source_parameters.size());
  inputs.recompute = state.options.recompute;
  for (auto belongs : {&RankFacts::is_source, &RankFacts::is_destination}) {
    if (ranks[static_cast<std::size_t>(state.part.rank)].*belongs == 0) continue;
    inputs.commit_places.push_back(FindCommitPlace(SideOf(ranks, belongs), state.part.rank));
  }
  Result<std::unique_ptr<ReplayRecorder>> recorder = ReplayRecorder::Make(std::move(inputs));
  if (!recorder) return tl::unexpected(recorder.error());
  state.recorder = *std::move(recorder);
  return Capture(deadline);
}

Result<void> NcclBackend::Capture(Clock::time_point deadline) {
  State& state = *state_;
  if (state.options.eager) return {};
  Result<OwnedGraphExec> graph = state.recorder->Capture(deadline);
  if (!graph) return tl::unexpected(graph.error());
  state.graph = *std::move(graph);
  return {};
}

Result<void> NcclBackend::RecordSteps() {
  Result<void> done = state_->communicator->CheckInUse();
  if (done) done = state_->recorder->TimeSteps();
  if (!done) return done;
  done = Capture(DeadlineAfter(state_->options.prepare_deadline));
  // The groups of the graph there was are forgotten, those of the new one not all known: neither
  // can be replayed.
  if (!done && !state_->communicator->is_stopped()) Stop(kPrepareStopGrace);
  return done;
}

std::vector<StepTime> NcclBackend::StepTimes() const {
  // Events of a refit that is over are read; what fails here is told by whatever comes next.
  Result<std::vector<StepTime>> steps = state_->recorder->StepTimes();
  if (!steps) return {};
  const std::int64_t launched =
      std::chrono::duration_cast<std::chrono::nanoseconds>(state_->launched.time_since_epoch())
          .count();
  for (StepTime& step : *steps) {
    step.start_ns += launched;
    step.end_ns += launched;
  }
  return *std::move(steps);
}

Result<void> NcclBackend::Start(std::uint64_t /*version*/) {
  State& state = *state_;
  // Another engine on it may have failed.
  if (Result<void> in_use = state.communicator->CheckInUse(); !in_use) return in_use;
  ++state.refits_begun;
  state.launched = Clock::now();
  // No refit runs that could write it.
  __atomic_store_n(&state.marks->groups_ended, std::uint64_t{0}, __ATOMIC_RELEASE);
  if (state.options.eager) {
    return state.recorder->Issue(state.stream, DeadlineAfter(state.options.prepare_deadline));
  }
  return CheckCuda(cudaGraphLaunch(state.graph.get(), state.stream), state.place,
                   "the refit cannot be launched");
}

Result<ReplayProgress> NcclBackend::WaitFor(std::chrono::nanoseconds timeout) {
  State& state = *state_;
  const Clock::time_point deadline = DeadlineAfter(timeout);
  for (int poll = 1; !state.IsPublished(); ++poll) {
    if (poll % kPollsPerHealthCheck == 0) {
      if (const Result<void> healthy = state.CheckHealth(); !healthy) {
        const ReplayStatus status = Status();
        Error error = healthy.error();
        error.reason += "; it was in round " + std::to_string(status.round) + " and waited for " +
                        status.waiting_for;
        return tl::unexpected(error);
      }
    }
    if (Clock::now() >= deadline) return ReplayProgress::kRunning;
    std::this_thread::sleep_for(kPollInterval);
  }
  if (ReadWord(state.marks->ok) != 1 || ReadWord(state.marks->refit) != state.refits_begun) {
    return RunError(state.place,
                    "the ranks of its side have not carried out equally many refits, this one " +
                        std::to_string(state.refits_begun),
                    "open new engines on all ranks and replay a whole version");
  }
  return ReplayProgress::kDone;
}

ReplayStatus NcclBackend::Status() const {
  const State& state = *state_;
  ReplayStatus status;
  const std::vector<NcclGroup>& groups = state.recorder->groups();
  const std::uint64_t ended = ReadWord(state.marks->groups_ended);
  if (ended >= groups.size()) {
    status.round = static_cast<RoundIndex>(state.lowered.rounds.size());
    status.waiting_for = "its own last steps";
    return status;
  }
  const NcclGroup& group = groups[static_cast<std::size_t>(ended)];
  status.round = group.round;
  status.peers = group.peers;
  status.waiting_for = RankList(group.peers) + " in " + group.name;
  return status;
}

StopResult NcclBackend::Stop(std::chrono::nanoseconds grace) {
  State& state = *state_;
  const Clock::time_point deadline = Clock::now() + grace;
  const auto left = [deadline] {
    return std::max(std::chrono::nanoseconds(deadline - Clock::now()), std::chrono::nanoseconds(0));
  };
  if (!state.communicator->Stop(left())) return AbandonState();
  while (!state.IsIdle()) {
    if (Clock::now() >= deadline) return AbandonState();
    std::this_thread::sleep_for(kPollInterval);
  }
  state.exchange.reset();
  // A graph refers to its communicator, so it goes first.
  state.graph.reset();
  return StopResult::kStopped;
}

StopResult NcclBackend::AbandonState() {
  // Before the first refit nothing has been begun that knows of the parameters.
  if (state_->refits_begun == 0) state_->ranges.clear();
  Abandon(state_->ranges, state_);
  return StopResult::kAbandoned;
}

}  // namespace reshard
