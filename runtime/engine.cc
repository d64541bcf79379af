#include "runtime/engine.h"

#include <cstdio>
#include <utility>

#include "runtime/deadline.h"
#include "runtime/lowering.h"
#include "runtime/part_references.h"

namespace reshard {
namespace {

// What the backend may take to stop, of the second a caller is promised after the deadline.
constexpr std::chrono::milliseconds kStopGrace{500};

std::string Seconds(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g s", std::chrono::duration<double>(time).count());
  return text;
}

}  // namespace

std::string ToString(const EngineState& state) {
  switch (state.phase) {
    case EnginePhase::kIdle:
      return "idle";
    case EnginePhase::kRunning:
      return "running";
    case EnginePhase::kInstalled:
      return "installed(" + std::to_string(state.version) + ")";
    case EnginePhase::kFailedMaybeMutated:
      return "failed(maybe mutated)";
    case EnginePhase::kFailedAbandoned:
      return "failed(abandoned)";
  }
  return "";
}

Result<Engine> Engine::Open(RankPart part, std::unique_ptr<Backend> backend) {
  if (const Result<void> fine = CheckReferences(part); !fine) return tl::unexpected(fine.error());
  return Engine(std::move(part), std::move(backend));
}

Engine::~Engine() {
  if (backend_ == nullptr) return;  // moved from
  if (state_.phase == EnginePhase::kRunning &&
      backend_->Stop(kStopGrace) == StopResult::kAbandoned) {
    state_.phase = EnginePhase::kFailedAbandoned;
  }
  if (state_.phase == EnginePhase::kFailedAbandoned) static_cast<void>(backend_.release());
}

Result<void> Engine::Bind(std::span<const NamedBuffer> source,
                          std::span<const NamedBuffer> destination) {
  if (bound_) {
    return Result<void>(tl::unexpected(Error{Fault::kUsage, Place(), "is bound already",
                                             "open a new engine where memory has moved"}));
  }
  Result<std::vector<std::byte*>> addresses = MatchBuffers(part_, source, destination);
  if (!addresses) return tl::unexpected(addresses.error());
  Result<LoweredRank> lowered = Lower(part_);
  if (!lowered) return tl::unexpected(lowered.error());
  const Result<std::byte*> staging = backend_->AllocateStaging(part_.staging_bytes);
  if (!staging) return tl::unexpected(staging.error());
  std::vector<std::byte*> bases = {*staging};
  bases.insert(bases.end(), addresses->begin(), addresses->end());
  Result<void> prepared =
      backend_->Prepare(*std::move(lowered), std::move(bases), part_.job_digest);
  bound_ = prepared.has_value();
  return prepared;
}

Result<void> Engine::RecordSteps() {
  if (!bound_ || state_.phase == EnginePhase::kRunning) {
    return tl::unexpected(Error{Fault::kUsage, Place(),
                                bound_ ? "a replay is running" : "no memory is bound",
                                bound_ ? "call WaitFor first" : "call Bind first"});
  }
  return backend_->RecordSteps();
}

Result<void> Engine::Replay(std::uint64_t version) {
  const auto refuse = [this](std::string reason, std::string remedy) {
    return tl::unexpected(Error{Fault::kUsage, Place(), std::move(reason), std::move(remedy)});
  };
  if (!bound_) return refuse("no memory is bound", "call Bind first");
  switch (state_.phase) {
    case EnginePhase::kIdle:
    case EnginePhase::kInstalled:
      break;
    case EnginePhase::kRunning:
      return refuse("a replay is running", "call WaitFor first");
    case EnginePhase::kFailedMaybeMutated:
    case EnginePhase::kFailedAbandoned:
      return refuse("an earlier replay has failed: " + ToString(state_),
                    "open a new engine on every rank and replay a whole version");
  }
  state_ = {EnginePhase::kRunning, version};
  const Result<void> started = backend_->Start(version);
  // It may have begun to write.
  if (!started) return tl::unexpected(Fail(started.error()));
  return {};
}

Result<void> Engine::WaitFor(std::chrono::nanoseconds deadline) {
  if (state_.phase != EnginePhase::kRunning) {
    return tl::unexpected(
        Error{Fault::kUsage, Place(), "no replay is running", "call Replay first"});
  }
  deadline = BoundedWait(deadline);
  const Result<ReplayProgress> progress = backend_->WaitFor(deadline);
  if (!progress) return tl::unexpected(Fail(progress.error()));
  if (*progress == ReplayProgress::kDone) {
    state_.phase = EnginePhase::kInstalled;
    return {};
  }
  const ReplayStatus status = backend_->Status();
  deadline_miss_ = {status.round, status.peers};
  return tl::unexpected(Fail(
      {Fault::kRun, Place(),
       "round " + std::to_string(status.round) + " of version " + std::to_string(state_.version) +
           " was not over after " + Seconds(deadline) + ": it waited for " + status.waiting_for,
       "look at the peers it names; then open new engines and replay a whole version"}));
}

void Engine::Abort() {
  if (state_.phase == EnginePhase::kRunning) static_cast<void>(Fail({}));
}

Error Engine::Fail(Error error) {
  const StopResult stopped = backend_->Stop(kStopGrace);
  state_.phase = stopped == StopResult::kStopped ? EnginePhase::kFailedMaybeMutated
                                                 : EnginePhase::kFailedAbandoned;
  error.reason += "; " + ToString(state_);
  return error;
}

}  // namespace reshard
