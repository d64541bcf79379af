#include "compiler/baselines/direct_planner.h"

#include <cstddef>
#include <map>
#include <utility>

#include "compiler/baselines/piece_flows.h"
#include "compiler/baselines/tensor_placements.h"
#include "compiler/baselines/traffic_builder.h"

namespace reshard {
namespace {

// The replica of a source shard that serves replica `r` of a destination shard.
RankIndex ServingReplica(const Shard& source, const Shard& destination, std::size_t r) {
  const auto sources = static_cast<std::int64_t>(source.ranks.size());
  const auto destinations = static_cast<std::int64_t>(destination.ranks.size());
  const auto replica = static_cast<std::int64_t>(r);
  const std::int64_t serving = sources < destinations
                                   ? PartOf(replica, destinations, sources)
                                   : DivideRange(sources, destinations, replica).begin;
  return source.ranks[static_cast<std::size_t>(serving)];
}

}  // namespace

Result<void> DirectPlanner::MakeSchedule(const Job& /*job*/, const CostModel& /*cost_model*/,
                                         Plan& plan) const {
  std::map<std::string, PhaseBuilder> by_pattern;
  for (const PlacedTensors& placed : PlaceTensors(plan.job)) {
    PhaseBuilder& phase = by_pattern[placed.pattern];
    for (const Shard& destination : placed.destinations) {
      for (const ShardPiece& piece : PiecesOf(placed, destination)) {
        const Shard& source = placed.sources[piece.source];
        for (std::size_t r = 0; r < destination.ranks.size(); ++r) {
          AddPiece(piece, placed, ServingReplica(source, destination, r), destination.ranks[r],
                   phase);
        }
      }
    }
  }
  TrafficStream stream{"all", {}};
  StagingMeter staging(plan.job.ranks.size());
  for (auto& [pattern, builder] : by_pattern) {
    if (builder.empty()) continue;
    TrafficPhase& phase = stream.phases.emplace_back();
    phase.host_synchronizations = 1;
    builder.MoveInto(phase);
    staging.AddPhase(phase);
  }
  SetTraffic(OneStream(std::move(stream), staging, CoverageBuilder(plan.job), plan), plan);
  return {};
}

}  // namespace reshard
