#include "compiler/baselines/direct_planner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/baselines/expert_stacks.h"
#include "compiler/baselines/piece_flows.h"
#include "compiler/baselines/tensor_placements.h"
#include "compiler/baselines/traffic_builder.h"
#include "compiler/baselines/written_job.h"

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

// Per pattern: tensors of the source stage that has most, experts stacked. Stages go at a time.
std::map<std::string, std::int64_t> HostTurns(const JobRecords& job,
                                              const std::vector<PlacedTensors>& all,
                                              const WrittenSide& source) {
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> by_stage;
  for (const StackedTensors& stack : StackExperts(job, all)) {
    if (stack.placed.sources.empty() || stack.placed.destinations.empty()) continue;
    const RankIndex first = stack.placed.sources.front().ranks.front();
    by_stage[{stack.placed.pattern, source.places[static_cast<std::size_t>(first)].stage}] +=
        stack.stacks;
  }
  std::map<std::string, std::int64_t> turns;
  for (const auto& [pattern_and_stage, tensors] : by_stage) {
    std::int64_t& most = turns[pattern_and_stage.first];
    most = std::max(most, tensors);
  }
  return turns;
}

}  // namespace

Result<void> DirectPlanner::MakeSchedule(const Job& job, const CostModel& /*cost_model*/,
                                         Plan& plan) const {
  const Result<WrittenSide> source_side = ReadWrittenSide(job, "source");
  if (!source_side) return tl::unexpected(source_side.error());
  const std::vector<PlacedTensors> all = PlaceTensors(plan.job);
  std::map<std::string, PhaseBuilder> by_pattern;
  for (const PlacedTensors& placed : all) {
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
  std::map<std::string, std::int64_t> turns = HostTurns(plan.job, all, *source_side);
  TrafficStream stream{"all", {}};
  StagingMeter staging(plan.job.ranks.size());
  for (auto& [pattern, builder] : by_pattern) {
    if (builder.empty()) continue;
    TrafficPhase& phase = stream.phases.emplace_back();
    phase.host_synchronizations = 1 + turns[pattern];
    phase.is_send_receive = false;
    builder.MoveInto(phase);
    staging.AddPhase(phase);
  }
  SetTraffic(OneStream(std::move(stream), staging, CoverageBuilder(plan.job), plan), plan);
  return {};
}

}  // namespace reshard
