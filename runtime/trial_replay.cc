#include "runtime/trial_replay.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "foundation/checked_arithmetic.h"
#include "runtime/host_backend.h"
#include "runtime/step_gathering.h"

namespace reshard {

Result<std::int64_t> TrialReplay::BytesNeeded(const Plan& plan) {
  Result<std::int64_t> total = TrialBytes(plan.job);
  if (!total) return total;
  for (std::size_t rank = 0; rank < plan.job.ranks.size(); ++rank) {
    const std::int64_t staging = StagingBytes(plan.schedules[rank]);
    const std::optional<std::int64_t> sum = CheckedAdd(*total, staging);
    if (!sum) return InputError("plan", "its bytes do not fit 64 bits");
    total = *sum;
  }
  return total;
}

Result<TrialReplay> TrialReplay::Make(const Plan& plan, HostOptions options) {
  const auto rank_count = static_cast<RankIndex>(plan.job.ranks.size());
  const Result<std::shared_ptr<HostExchange>> exchange = HostExchange::Make(rank_count, options);
  if (!exchange) return tl::unexpected(exchange.error());
  TrialReplay trial;
  for (RankIndex rank = 0; rank < rank_count; ++rank) {
    Result<TrialMemory> memory = TrialMemory::Make(plan.job, rank);
    if (!memory) return tl::unexpected(memory.error());
    Result<Engine> engine =
        Engine::Open(ExtractRankPart(plan, rank), MakeHostBackend(*exchange, rank));
    if (!engine) return tl::unexpected(engine.error());
    const Result<void> bound = engine->Bind(memory->SourceBuffers(), memory->DestinationBuffers());
    if (!bound) return tl::unexpected(bound.error());
    trial.memories_.push_back(*std::move(memory));
    trial.engines_.push_back(*std::move(engine));
  }
  return trial;
}

void TrialReplay::Fill(std::uint64_t refit) {
  for (TrialMemory& memory : memories_) memory.Fill(refit);
}

Result<double> TrialReplay::Replay(std::uint64_t refit, std::chrono::nanoseconds deadline) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<Error> failure;
  for (Engine& engine : engines_) {
    const Result<void> started = engine.Replay(refit);
    if (!started && !failure) failure = started.error();
  }
  for (Engine& engine : engines_) {
    if (engine.state().phase != EnginePhase::kRunning) continue;
    // One deadline for all: what is left of it when this rank's turn comes.
    const auto left = deadline - (std::chrono::steady_clock::now() - start);
    const Result<void> ended = engine.WaitFor(std::max(left, std::chrono::nanoseconds(0)));
    if (!ended && !failure) failure = ended.error();
  }
  if (failure) return tl::unexpected(*failure);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<void> TrialReplay::RecordSteps() {
  for (Engine& engine : engines_) {
    if (Result<void> fine = engine.RecordSteps(); !fine) return fine;
  }
  return {};
}

std::vector<StepTime> TrialReplay::StepTimes() const {
  std::vector<StepTime> steps;
  for (const Engine& engine : engines_) {
    if (engine.state().phase != EnginePhase::kInstalled) return {};
    const std::vector<StepTime> own = engine.StepTimes();
    steps.insert(steps.end(), own.begin(), own.end());
  }
  return FromFirstStart(std::move(steps));
}

Result<void> TrialReplay::Check(std::uint64_t refit) const {
  for (const TrialMemory& memory : memories_) {
    if (Result<void> fine = memory.Check(refit); !fine) return fine;
  }
  return {};
}

}  // namespace reshard
