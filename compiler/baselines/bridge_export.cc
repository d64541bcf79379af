#include "compiler/baselines/bridge_export.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "compiler/baselines/collective_rings.h"
#include "compiler/baselines/traffic_builder.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

std::size_t At(std::int64_t index) { return static_cast<std::size_t>(index); }

// Whether Megatron holds the tensor in another one, which is broadcast for both.
bool IsFusedIntoAnother(std::string_view pattern) {
  constexpr std::array<std::string_view, 3> kNames = {"up_proj", "k_proj", "v_proj"};
  return std::ranges::any_of(kNames, [&](std::string_view name) {
    const std::size_t found = pattern.rfind(name);
    return found != std::string_view::npos && (found == 0 || pattern[found - 1] == '.');
  });
}

void MovePhase(PhaseBuilder& builder, std::vector<TrafficPhase>& phases) {
  if (builder.empty()) return;
  TrafficPhase& phase = phases.emplace_back();
  phase.is_send_receive = false;
  phase.launches = 0;
  builder.MoveInto(phase);
}

}  // namespace

BridgeExport::BridgeExport(const Plan& plan, const WrittenSide& source)
    : plan_(plan),
      source_(source),
      stages_(At(source.stages)),
      positions_(plan.job.ranks.size()),
      broadcast_(At(source.stages)) {
  for (std::size_t rank = 0; rank < plan.job.ranks.size(); ++rank) {
    if (plan.job.ranks[rank].source_layout == kNoLayout) continue;
    std::vector<RankIndex>& stage = stages_[At(source.places[rank].stage)];
    positions_[rank] = stage.size();
    stage.push_back(static_cast<RankIndex>(rank));
  }
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    broadcast_[stage].resize(stages_[stage].size());
  }
}

void BridgeExport::Add(const StackedTensors& stack) {
  const PlacedTensors& placed = stack.placed;
  if (placed.sources.empty()) return;
  const auto stage_of = [&](RankIndex rank) { return source_.places[At(rank)].stage; };
  const std::int64_t owner = stage_of(placed.sources.front().ranks.front());
  std::vector<std::vector<std::size_t>> parts;  // positions of each part's replicas
  std::vector<std::int64_t> bytes;
  std::size_t replicas = 0;
  for (const Shard& shard : placed.sources) {
    std::vector<std::size_t> part;
    const std::int64_t of_part = shard.Elements() * placed.element_bytes * stack.stacks;
    for (const RankIndex rank : shard.ranks) {
      if (stage_of(rank) != owner) continue;
      part.push_back(positions_[At(rank)]);
      broadcast_[At(owner)][positions_[At(rank)]] += of_part;
    }
    if (part.empty()) continue;
    replicas = std::max(replicas, part.size());
    parts.push_back(std::move(part));
    bytes.push_back(of_part);
  }
  // One of each rank's experts at a time.
  const std::int64_t turns =
      IsExpert(placed.pattern) ? CeilDivide(placed.count(), static_cast<std::int64_t>(parts.size()))
                               : stack.stacks;
  const bool is_broadcast = stages_.size() > 1;
  const bool is_gathered = parts.size() > 1;
  if (!IsFusedIntoAnother(placed.pattern)) {
    if (is_broadcast || is_gathered) host_turns_ += turns;
    if (is_broadcast) collectives_ += turns;
  }
  if (!is_gathered) return;
  collectives_ += turns;
  for (std::size_t replica = 0; replica < replicas; ++replica) {
    Group group;
    for (const auto& part : parts) group.push_back(part[replica % part.size()]);
    std::vector<std::int64_t>& gathered = gathered_[group];
    gathered.resize(group.size());
    for (std::size_t i = 0; i < group.size(); ++i) gathered[i] += bytes[i];
  }
}

std::vector<TrafficPhase> BridgeExport::PhasesOf(std::int64_t buckets) const {
  PhaseBuilder broadcasts;
  for (std::size_t position = 0;; ++position) {
    std::vector<std::size_t> ring;  // stages that have it
    std::int64_t total = 0;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      if (position >= stages_[stage].size()) continue;
      ring.push_back(stage);
      total += broadcast_[stage][position];
    }
    if (ring.empty()) break;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::size_t to = ring[(i + 1) % ring.size()];
      broadcasts.AddFlow(stages_[ring[i]][position], stages_[to][position],
                         CeilDivide(total - broadcast_[to][position], buckets), 1);
    }
  }
  PhaseBuilder gathers;
  for (const auto& [group, bytes] : gathered_) {
    std::int64_t total = 0;
    for (const std::int64_t part : bytes) total += part;
    for (const std::vector<RankIndex>& stage : stages_) {
      std::map<RankIndex, std::int64_t> brought;
      for (std::size_t i = 0; i < group.size(); ++i) {
        if (group[i] < stage.size()) brought[stage[group[i]]] += bytes[i];
      }
      std::vector<RankIndex> ranks;
      for (const auto& [rank, part] : brought) ranks.push_back(rank);
      if (ranks.size() < 2) continue;
      const std::vector<std::vector<RankIndex>> rings = CollectiveRings(plan_.job, ranks);
      for (std::size_t ring = 0; ring < rings.size(); ++ring) {
        for (std::size_t i = 0; i < ranks.size(); ++i) {
          const RankIndex next = rings[ring][(i + 1) % ranks.size()];
          gathers.AddFlow(rings[ring][i], next,
                          RingBytes(CeilDivide(total - brought[next], buckets), ring, rings.size()),
                          1);
        }
      }
    }
  }
  std::vector<TrafficPhase> phases;
  MovePhase(broadcasts, phases);
  MovePhase(gathers, phases);
  return phases;
}

}  // namespace reshard
