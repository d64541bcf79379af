#include "compiler/baselines/broadcast_builder.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

constexpr std::int64_t kBucketBytes = std::int64_t{1} << 30;

std::int64_t BucketsOf(std::int64_t bytes) { return CeilDivide(bytes, kBucketBytes); }

}  // namespace

BroadcastBuilder::BroadcastBuilder(const Plan& plan, const WrittenSide& source)
    : source_(source),
      stages_(static_cast<std::size_t>(source.stages)),
      needed_(plan.job.ranks.size()) {
  for (std::size_t rank = 0; rank < plan.job.ranks.size(); ++rank) {
    const Rank& record = plan.job.ranks[rank];
    const auto index = static_cast<RankIndex>(rank);
    if (record.destination_layout != kNoLayout) destinations_.push_back(index);
    if (record.source_layout == kNoLayout) continue;
    Stage& stage = StageOf(index);
    if (stage.root == kNoRank) stage.root = index;
  }
}

BroadcastBuilder::Stage& BroadcastBuilder::StageOf(RankIndex rank) {
  return stages_[static_cast<std::size_t>(source_.places[static_cast<std::size_t>(rank)].stage)];
}

void BroadcastBuilder::Add(const PlacedTensors& placed) {
  if (placed.sources.empty() || placed.destinations.empty()) return;
  const std::int64_t scale = placed.element_bytes * placed.count();
  // A rank that holds the whole tensor gives it; else each byte comes from the first shard that
  // has it. Of a shard's replicas the first one gives.
  const Shard whole{{WholeBox(placed.shape)}, {}};
  if (whole.Elements() == 0) return;
  Stage& stage = StageOf(placed.sources.front().ranks.front());
  Contributions& gather = stage.gathers[placed.pattern];
  for (const ShardPiece& piece : PiecesOf(placed, whole, stage.root)) {
    const std::vector<RankIndex>& replicas = placed.sources[piece.source].ranks;
    const bool root = std::ranges::binary_search(replicas, stage.root);
    gather[root ? stage.root : replicas.front()] += piece.Elements() * scale;
    stage.bytes += piece.Elements() * scale;
  }
  const auto number = static_cast<std::size_t>(&stage - stages_.data());
  for (const Shard& destination : placed.destinations) {
    for (const RankIndex rank : destination.ranks) {
      std::vector<std::int64_t>& needed = needed_[static_cast<std::size_t>(rank)];
      needed.resize(stages_.size());
      needed[number] += destination.Elements() * scale;
    }
  }
}

void BroadcastBuilder::AppendTo(TrafficStream& stream, StagingMeter& staging) const {
  for (std::size_t number = 0; number < stages_.size(); ++number) {
    if (stages_[number].bytes == 0) continue;
    AppendGather(stages_[number], stream, staging);
    AppendBroadcast(number, stream, staging);
  }
}

void BroadcastBuilder::AppendGather(const Stage& stage, TrafficStream& stream,
                                    StagingMeter& staging) {
  PhaseBuilder builder;
  const std::int64_t buckets = BucketsOf(stage.bytes);
  for (const auto& [pattern, gather] : stage.gathers) {
    Contributions ring = gather;
    ring.try_emplace(stage.root, 0);
    std::int64_t total = 0;
    for (const auto& [rank, bytes] : ring) total += bytes;
    for (auto at = ring.begin(); at != ring.end(); ++at) {
      const auto next = std::next(at) == ring.end() ? ring.begin() : std::next(at);
      builder.AddFlow(at->first, next->first, CeilDivide(total - next->second, buckets), 1);
    }
    for (const auto& [rank, bytes] : ring) {
      staging.AtLeast(rank, std::min(kBucketBytes, stage.bytes));
    }
  }
  TrafficPhase phase;
  phase.repeats = buckets;
  builder.MoveInto(phase);
  if (!phase.flows.empty()) stream.phases.push_back(std::move(phase));
}

void BroadcastBuilder::AppendBroadcast(std::size_t number, TrafficStream& stream,
                                       StagingMeter& staging) const {
  const Stage& stage = stages_[number];
  const std::int64_t buckets = BucketsOf(stage.bytes);
  PhaseBuilder builder;
  RankIndex last = stage.root;
  std::int32_t hop = 0;
  for (const RankIndex rank : destinations_) {
    if (rank != stage.root) {
      builder.AddFlow(last, rank, CeilDivide(stage.bytes, buckets), 1, hop++);
      last = rank;
    }
    const std::vector<std::int64_t>& needed = needed_[static_cast<std::size_t>(rank)];
    if (needed.empty()) continue;
    builder.AddUnpack(rank, CeilDivide(needed[number], buckets));
    staging.AtLeast(rank, std::min(kBucketBytes, stage.bytes));
  }
  TrafficPhase& phase = stream.phases.emplace_back();
  phase.repeats = buckets;
  phase.host_synchronizations = 1;
  phase.chunk_bytes = kRingStepBytes;
  builder.MoveInto(phase);
}

}  // namespace reshard
