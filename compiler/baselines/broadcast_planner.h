// Gather and broadcast, as slime, OpenRLHF and vLLM's `nccl` engine do it.
//
// Per pipeline stage of the source, one stage after another: the holders all-gather each tensor to
// the stage's root (its first rank), and the root broadcasts it whole to all ranks of the
// destination, in buckets of 1 GiB; the next bucket is gathered meanwhile. It expresses any layout.
//
// How gathers and broadcasts go: broadcast_builder.h.
#pragma once

#include "compiler/planner.h"

namespace reshard {

class BroadcastPlanner final : public Planner {
 public:
  std::string_view Name() const override { return "broadcast"; }
  Result<void> MakeSchedule(const Job& job, const CostModel& cost_model, Plan& plan) const override;
};

}  // namespace reshard
