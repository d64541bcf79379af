// The direct method of NCCL M2N ("direct", uniform): every destination rank gets every piece it
// needs straight from one holder.
//
// Per tensor, a shard of the source with Rs replicas serves the Rd replicas of a shard of the
// destination like this: where Rs < Rd, replica i the replicas of part i of Rd split into Rs parts;
// else the first replica of part r of Rs split into Rd parts serves replica r. One name pattern
// after another, with a host synchronisation between and a turn of the host for each tensor,
// experts stacked, of the source stage that has most of them: stages go at a time. The bytes of a
// pattern are one NCCL group. It expresses any layout.
#pragma once

#include "compiler/planner.h"

namespace reshard {

class DirectPlanner final : public Planner {
 public:
  std::string_view Name() const override { return "direct"; }
  Result<void> MakeSchedule(const Job& job, const CostModel& cost_model, Plan& plan) const override;
};

}  // namespace reshard
