// Awex: replica i of the destination reads replica i mod n of the source, by intersecting boxes.
//
// Per tensor a shard of the source has n replicas; replica i of a destination shard (its position
// among the shard's ranks) reads from replica i mod n of every source shard it meets, and so starts
// again at replica 0 for every tensor. All of it is one NCCL group. It expresses any layout.
#pragma once

#include "compiler/planner.h"

namespace reshard {

class AwexPlanner final : public Planner {
 public:
  std::string_view Name() const override { return "awex"; }
  Result<void> MakeSchedule(const Job& job, const CostModel& cost_model, Plan& plan) const override;
};

}  // namespace reshard
