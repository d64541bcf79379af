// Our planner: senders, heads, relays, fan-out, then the number and shape of rounds by asking the
// cost model.
#pragma once

#include "compiler/planner.h"

namespace reshard {

class OptimalPlanner final : public Planner {
 public:
  std::string_view Name() const override { return "optimal"; }
  Result<void> MakeSchedule(const Job& job, const CostModel& cost_model, Plan& plan) const override;
};

}  // namespace reshard
