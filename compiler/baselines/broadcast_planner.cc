#include "compiler/baselines/broadcast_planner.h"

#include <utility>

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
  TrafficStream stream{"all stages", {}};
  StagingMeter staging(plan.job.ranks.size());
  broadcasts.AppendTo(stream, staging);
  SetTraffic(OneStream(std::move(stream), staging, CoverageBuilder(plan.job), plan), plan);
  return {};
}

}  // namespace reshard
