#include "tests/runtime/rank_team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "runtime/host_backend.h"
#include "tests/runtime/altered_backend.h"

namespace reshard {

RankTeam::RankTeam(Plan plan, TeamOptions options) : plan_(std::move(plan)) {
  const auto rank_count = static_cast<RankIndex>(plan_.job.ranks.size());
  const std::shared_ptr<HostExchange> exchange = *HostExchange::Make(rank_count, options.host);
  for (RankIndex rank = 0; rank < rank_count; ++rank) {
    if (std::count(options.missing.begin(), options.missing.end(), rank) > 0) continue;
    auto memory = std::make_unique<TrialMemory>(*TrialMemory::Make(plan_.job, rank));
    std::unique_ptr<Backend> backend = MakeHostBackend(exchange, rank);
    if (const auto altered = options.altered.find(rank); altered != options.altered.end()) {
      backend = std::make_unique<AlteredBackend>(std::move(backend), altered->second);
    }
    RankPart part = ExtractRankPart(plan_, rank);
    if (const auto other = options.other_part.find(rank); other != options.other_part.end()) {
      other->second(part);
    }
    Result<Engine> engine = Engine::Open(std::move(part), std::move(backend));
    if (!engine) {
      ADD_FAILURE() << ToString(engine.error());
      continue;
    }
    const Result<void> bound = engine->Bind(memory->SourceBuffers(), memory->DestinationBuffers());
    if (!bound) ADD_FAILURE() << ToString(bound.error());
    memories_[rank] = std::move(memory);
    engines_[rank] = std::make_unique<Engine>(*std::move(engine));
  }
}

void RankTeam::Fill(std::uint64_t refit) {
  for (auto& [rank, memory] : memories_) memory->Fill(refit);
}

void RankTeam::Start(std::uint64_t version) {
  for (auto& [rank, engine] : engines_) {
    const Result<void> started = engine->Replay(version);
    if (!started) ADD_FAILURE() << ToString(started.error());
  }
}

std::map<RankIndex, std::optional<Error>> RankTeam::WaitForAll(std::chrono::nanoseconds deadline) {
  const auto start = std::chrono::steady_clock::now();
  std::map<RankIndex, std::optional<Error>> results;
  for (auto& [rank, engine] : engines_) {
    const auto left = deadline - (std::chrono::steady_clock::now() - start);
    const Result<void> ended = engine->WaitFor(std::max(left, std::chrono::nanoseconds(0)));
    results[rank] = ended ? std::nullopt : std::optional(ended.error());
  }
  return results;
}

}  // namespace reshard
