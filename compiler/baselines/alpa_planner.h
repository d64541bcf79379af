// Alpa's cross-mesh resharding with loadbalance_order: works in rounds, each work a broadcast.
//
// A work is a class: any of its holders can send it, all of its needers that do not hold it get it.
// The GPUs behind one NIC are one worker, half duplex (alpa_rounds.h). A work is a pipelined chain
// from the sender over its receivers in rank order. A round begins when the one before it has ended
// on every rank, where Alpa's own works start as soon as their workers are free: with works of
// equal size, which reshardings mostly have, that is the same. Equal works of different tensors go
// together. It expresses any layout.
#pragma once

#include "compiler/planner.h"

namespace reshard {

class AlpaPlanner final : public Planner {
 public:
  std::string_view Name() const override { return "alpa"; }
  Result<void> MakeSchedule(const Job& job, const CostModel& cost_model, Plan& plan) const override;
};

}  // namespace reshard
