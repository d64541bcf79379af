#include "compiler/baselines/broadcast_builder.h"

#include <algorithm>
#include <utility>

#include "compiler/baselines/collective_rings.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {

BroadcastBuilder::BroadcastBuilder(const Plan& plan, const WrittenSide& source)
    : plan_(plan),
      source_(source),
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
  Gather& gather = stage.gathers[placed.pattern];
  bool lacks = false;
  for (const ShardPiece& piece : PiecesOf(placed, whole, stage.root)) {
    const std::vector<RankIndex>& replicas = placed.sources[piece.source].ranks;
    const bool root = std::ranges::binary_search(replicas, stage.root);
    lacks = lacks || !root;
    Contribution& brought = gather.brought[root ? stage.root : replicas.front()];
    brought.bytes += piece.Elements() * scale;
    brought.tensors += placed.count();
    stage.bytes += piece.Elements() * scale;
  }
  if (lacks) gather.lacking += placed.count();
  const auto number = static_cast<std::size_t>(&stage - stages_.data());
  for (const Shard& destination : placed.destinations) {
    for (const RankIndex rank : destination.ranks) {
      std::vector<std::int64_t>& needed = needed_[static_cast<std::size_t>(rank)];
      needed.resize(stages_.size());
      needed[number] += destination.Elements() * scale;
    }
  }
}

void BroadcastBuilder::AppendTo(std::vector<TrafficStream>& streams, StagingMeter& staging) const {
  std::vector<BufferedStage> stages;
  for (std::size_t number = 0; number < stages_.size(); ++number) {
    if (stages_[number].bytes == 0) continue;
    BufferedStage& stage = stages.emplace_back();
    stage.buckets = BucketsOf(stages_[number].bytes);
    FillGather(stages_[number], stage, staging);
    FillBroadcast(number, stage, staging);
  }
  AppendDoubleBuffered(stages, streams);
}

void BroadcastBuilder::FillGather(const Stage& stage, BufferedStage& phases,
                                  StagingMeter& staging) const {
  std::map<std::pair<RankIndex, RankIndex>, std::int64_t> links;
  const std::int64_t buckets = BucketsOf(stage.bytes);
  for (const auto& [pattern, gather] : stage.gathers) {
    std::map<RankIndex, Contribution> brought = gather.brought;
    brought.try_emplace(stage.root);
    std::vector<RankIndex> ranks;
    std::int64_t total = 0;
    std::int64_t most = 0;
    for (const auto& [rank, contribution] : brought) {
      ranks.push_back(rank);
      total += contribution.bytes;
      most = std::max(most, contribution.tensors);
      staging.AtLeast(rank, BufferedBytes(stage.bytes));
    }
    if (ranks.size() < 2) continue;
    const std::int64_t collectives = IsExpert(pattern) ? most : gather.lacking;
    phases.collectives += collectives;
    phases.host_turns += collectives;
    const std::vector<std::vector<RankIndex>> rings = CollectiveRings(plan_.job, ranks);
    for (std::size_t ring = 0; ring < rings.size(); ++ring) {
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        const RankIndex next = rings[ring][(i + 1) % ranks.size()];
        links[{rings[ring][i], next}] +=
            RingBytes(CeilDivide(total - brought[next].bytes, buckets), ring, rings.size());
      }
    }
  }
  PhaseBuilder builder;
  for (const auto& [ends, bytes] : links) builder.AddFlow(ends.first, ends.second, bytes, 1);
  TrafficPhase& gather = phases.gathers.emplace_back();
  gather.is_send_receive = false;
  gather.launches = 0;
  builder.MoveInto(gather);
}

std::vector<RankIndex> BroadcastBuilder::WaysOut(RankIndex root) const {
  const std::int32_t domain = plan_.job.ranks[static_cast<std::size_t>(root)].domain;
  std::vector<RankIndex> ranks;
  for (std::size_t rank = 0; rank < plan_.job.ranks.size(); ++rank) {
    const Rank& record = plan_.job.ranks[rank];
    const auto index = static_cast<RankIndex>(rank);
    if (record.domain != domain || index == root) continue;
    if (record.destination_layout != kNoLayout) return {root};
    ranks.push_back(index);
  }
  const auto after = std::ranges::upper_bound(ranks, root);
  std::ranges::rotate(ranks, after);
  ranks.insert(ranks.begin(), root);
  return ranks;
}

void BroadcastBuilder::FillBroadcast(std::size_t number, BufferedStage& phases,
                                     StagingMeter& staging) const {
  const Stage& stage = stages_[number];
  const std::int64_t buckets = BucketsOf(stage.bytes);
  std::vector<RankIndex> ranks = destinations_;
  std::erase(ranks, stage.root);
  const std::vector<std::vector<RankIndex>> rings = CollectiveRings(plan_.job, ranks);
  const std::vector<RankIndex> ways_out = WaysOut(stage.root);
  struct Link {
    std::int64_t bytes = 0;
    std::int32_t hop = 0;  // in the first ring that has it
  };
  std::map<std::pair<RankIndex, RankIndex>, Link> links;
  for (std::size_t ring = 0; ring < rings.size(); ++ring) {
    RankIndex last = stage.root;
    std::int32_t hop = 0;
    const auto pass_on = [&](RankIndex to) {
      if (to == last) return;
      Link& link = links.try_emplace({last, to}, Link{0, hop}).first->second;
      link.bytes += RingBytes(CeilDivide(stage.bytes, buckets), ring, rings.size());
      last = to;
      ++hop;
    };
    pass_on(ways_out[ring % ways_out.size()]);
    for (const RankIndex rank : rings[ring]) pass_on(rank);
  }
  PhaseBuilder builder;
  for (const auto& [ends, link] : links) {
    builder.AddFlow(ends.first, ends.second, link.bytes, 1, link.hop);
  }
  for (const RankIndex rank : destinations_) {
    const std::vector<std::int64_t>& needed = needed_[static_cast<std::size_t>(rank)];
    if (needed.empty()) continue;
    builder.AddUnpack(rank, CeilDivide(needed[number], buckets));
    staging.AtLeast(rank, BufferedBytes(stage.bytes));
  }
  TrafficPhase& phase = phases.broadcast;
  phase.is_send_receive = false;
  phase.chunk_bytes = kRingStepBytes;
  builder.MoveInto(phase);
}

}  // namespace reshard
