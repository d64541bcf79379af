// NeMo RL's python path: bulk parameters shard to shard, striped (v2) where that applies, all else
// as a broadcast from rank 0.
//
// Bulk parameters are gate, up and down projections and experts, the latter stacked to [E, ..];
// shared experts are not. The destination has two streams, which the source's pipeline stages take
// in turn (NeMo RL vllm_backend.py, NRL_REFIT_NUM_STREAMS); in each, one tensor after another.
// Destination ranks of equal region are a set:
//
//   v2  applies if some set has several ranks, the size of each such set divides dim 0 of its
//       region, and no transfer between two ranks is strided on both ends. Each member receives one
//       stripe of dim 0, from holder[counter mod holders] (a counter per source region, reset for
//       every tensor; a member's own copy comes first), then the set all-gathers, in a ring.
//   v1  else: the first rank of a set receives all from the first holders, then broadcasts to the
//       others, in a chain.
//
// After them, all other tensors are packed and broadcast (packed_broadcast.h). It cannot express,
// and omits, bulk tensors of which a rank has several boxes.
#pragma once

#include "compiler/planner.h"

namespace reshard {

class NemoPlanner final : public Planner {
 public:
  std::string_view Name() const override { return "nemo"; }
  Result<void> MakeSchedule(const Job& job, const CostModel& cost_model, Plan& plan) const override;
};

}  // namespace reshard
