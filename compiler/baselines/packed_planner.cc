#include "compiler/baselines/packed_planner.h"

#include <utility>
#include <vector>

#include "compiler/baselines/expert_stacks.h"
#include "compiler/baselines/packed_broadcast.h"
#include "compiler/baselines/tensor_placements.h"
#include "compiler/baselines/traffic_builder.h"
#include "compiler/baselines/written_job.h"

namespace reshard {

Result<void> PackedPlanner::MakeSchedule(const Job& job, const CostModel& /*cost_model*/,
                                         Plan& plan) const {
  const Result<WrittenSide> source = ReadWrittenSide(job, "source");
  if (!source) return tl::unexpected(source.error());
  PackedBroadcast broadcast(plan, *source);
  for (const StackedTensors& stack : StackExperts(plan.job, PlaceTensors(plan.job))) {
    broadcast.Add(stack);
  }
  std::vector<TrafficStream> streams;
  StagingMeter staging(plan.job.ranks.size());
  broadcast.AppendTo(streams, staging);
  SetTraffic(OfStreams(std::move(streams), staging, CoverageBuilder(plan.job), plan), plan);
  return {};
}

}  // namespace reshard
