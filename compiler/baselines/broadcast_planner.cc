#include "compiler/baselines/broadcast_planner.h"

#include <utility>
#include <vector>

#include "compiler/baselines/broadcast_builder.h"
#include "compiler/baselines/tensor_placements.h"
#include "compiler/baselines/traffic_builder.h"
#include "compiler/baselines/written_job.h"

namespace reshard {

Result<void> BroadcastPlanner::MakeSchedule(const Job& job, const CostModel& /*cost_model*/,
                                            Plan& plan) const {
  const Result<WrittenSide> source = ReadWrittenSide(job, "source");
  if (!source) return tl::unexpected(source.error());
  BroadcastBuilder broadcasts(plan, *source);
  for (const PlacedTensors& placed : PlaceTensors(plan.job)) broadcasts.Add(placed);
  std::vector<TrafficStream> streams;
  StagingMeter staging(plan.job.ranks.size());
  broadcasts.AppendTo(streams, staging);
  SetTraffic(OfStreams(std::move(streams), staging, CoverageBuilder(plan.job), plan), plan);
  return {};
}

}  // namespace reshard
