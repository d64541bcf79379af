// NeMo RL's default for GPUs that do not train and generate at once: all tensors whole, packed into
// buckets and broadcast from one rank (packed_broadcast.h). It expresses any layout.
#pragma once

#include "compiler/planner.h"

namespace reshard {

class PackedPlanner final : public Planner {
 public:
  std::string_view Name() const override { return "packed"; }
  Result<void> MakeSchedule(const Job& job, const CostModel& cost_model, Plan& plan) const override;
};

}  // namespace reshard
