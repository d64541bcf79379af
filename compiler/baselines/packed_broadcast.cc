#include "compiler/baselines/packed_broadcast.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "compiler/baselines/collective_rings.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {

PackedBroadcast::PackedBroadcast(const Plan& plan, const WrittenSide& source)
    : plan_(plan), gathers_(plan, source), needed_(plan.job.ranks.size()) {
  for (std::size_t rank = 0; rank < plan.job.ranks.size(); ++rank) {
    const Rank& record = plan.job.ranks[rank];
    const auto index = static_cast<RankIndex>(rank);
    if (record.source_layout == kNoLayout && record.destination_layout == kNoLayout) continue;
    ranks_.push_back(index);
    if (root_ == kNoRank && record.source_layout != kNoLayout) root_ = index;
  }
}

void PackedBroadcast::Add(const StackedTensors& stack) {
  const PlacedTensors& placed = stack.placed;
  if (placed.sources.empty() || placed.destinations.empty()) return;
  const std::int64_t scale = placed.element_bytes * stack.stacks;
  const Shard whole{{WholeBox(placed.shape)}, {}};
  if (whole.Elements() == 0) return;
  gathers_.Add(stack);
  bytes_ += whole.Elements() * scale;
  for (const Shard& destination : placed.destinations) {
    for (const RankIndex rank : destination.ranks) {
      needed_[static_cast<std::size_t>(rank)] += destination.Elements() * scale;
    }
  }
}

void PackedBroadcast::AppendTo(std::vector<TrafficStream>& streams, StagingMeter& staging) const {
  if (bytes_ == 0) return;
  BufferedStage stage;
  stage.buckets = BucketsOf(bytes_);
  stage.host_turns = gathers_.host_turns();
  stage.collectives = gathers_.collectives();
  stage.gathers = gathers_.PhasesOf(stage.buckets);
  PhaseBuilder broadcast;
  std::vector<std::vector<RankIndex>> rings = CollectiveRings(plan_.job, ranks_);
  for (std::size_t ring = 0; ring < rings.size(); ++ring) {
    std::vector<RankIndex>& chain = rings[ring];
    std::ranges::rotate(chain, std::ranges::find(chain, root_));
    const std::int64_t bytes = RingBytes(CeilDivide(bytes_, stage.buckets), ring, rings.size());
    for (std::size_t i = 1; i < chain.size(); ++i) {
      broadcast.AddFlow(chain[i - 1], chain[i], bytes, 1, static_cast<std::int32_t>(i - 1));
    }
  }
  for (const RankIndex rank : ranks_) {
    const std::int64_t needed = needed_[static_cast<std::size_t>(rank)];
    if (needed > 0) broadcast.AddUnpack(rank, CeilDivide(needed, stage.buckets));
    staging.AtLeast(rank, BufferedBytes(bytes_));
  }
  stage.broadcast.is_send_receive = false;
  stage.broadcast.chunk_bytes = kRingStepBytes;
  broadcast.MoveInto(stage.broadcast);
  AppendDoubleBuffered({std::move(stage)}, streams);
}

}  // namespace reshard
