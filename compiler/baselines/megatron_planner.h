// Megatron core's resharding (core/resharding): tiles by least common multiple, senders by
// data-parallel group.
//
// A tensor that the source cuts into s equal parts along a dim, and the destination into d along
// the same dim, has lcm(s, d) tiles, each a transfer of its own. Destination rank r takes a tile
// from
//   itself, if it holds it;
//   else, of the ranks that hold it, grouped by data-parallel group (G groups): G = 1: the first
//   rank; else member (r div G) mod size of group r mod G.
// Experts are named for the whole model here, so that the rule "same expert rank where expert
// degrees are equal" holds by itself: whoever holds an expert has its rank. All is one NCCL group.
//
// It cannot express tensors cut along several dims, along different dims on the two sides, or into
// unequal parts; they are omitted.
#pragma once

#include "compiler/planner.h"

namespace reshard {

class MegatronPlanner final : public Planner {
 public:
  std::string_view Name() const override { return "megatron"; }
  Result<void> MakeSchedule(const Job& job, const CostModel& cost_model, Plan& plan) const override;
};

}  // namespace reshard
