#include "compiler/baselines/awex_planner.h"

#include <cstddef>
#include <utility>

#include "compiler/baselines/piece_flows.h"
#include "compiler/baselines/tensor_placements.h"
#include "compiler/baselines/traffic_builder.h"

namespace reshard {

Result<void> AwexPlanner::MakeSchedule(const Job& /*job*/, const CostModel& /*cost_model*/,
                                       Plan& plan) const {
  PhaseBuilder group;
  for (const PlacedTensors& placed : PlaceTensors(plan.job)) {
    for (const Shard& destination : placed.destinations) {
      for (const ShardPiece& piece : PiecesOf(placed, destination)) {
        const std::vector<RankIndex>& replicas = placed.sources[piece.source].ranks;
        for (std::size_t i = 0; i < destination.ranks.size(); ++i) {
          AddPiece(piece, placed, replicas[i % replicas.size()], destination.ranks[i], group);
        }
      }
    }
  }
  SetTraffic(OnePhase(std::move(group), CoverageBuilder(plan.job), plan), plan);
  return {};
}

}  // namespace reshard
