// How Megatron-Bridge gives every rank of the source every tensor whole, one tensor after another.
//
// Each tensor takes up to two collectives, after its models/conversion/param_mapping.py (2026):
// the stage that has it broadcasts it to all others, each rank to those of its position in their
// stages (broadcast_from_pp_rank); then each stage all-gathers the parts in its groups of tensor
// parallelism, or of expert parallelism, where one gather brings an expert of every rank
// (gather_from_tp_ranks, gather_from_ep_ranks). gate and up, and q, k and v, are one parameter
// there until they are gathered, so that one broadcast serves them. verl does the same.
//
// A parameter of which another rank needs something is a turn of the host (docs/
// bridge-tech-details.md: parameters are the unit of work), its collectives are launches.
//
// A position's broadcasts by all stages are a ring through them; gathers go in the rings of
// collective_rings.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "compiler/baselines/expert_stacks.h"
#include "compiler/baselines/written_job.h"
#include "schedules/plan.h"

namespace reshard {

class BridgeExport {
 public:
  BridgeExport(const Plan& plan, const WrittenSide& source);

  // Experts are to come stacked.
  void Add(const StackedTensors& stack);
  std::int64_t host_turns() const { return host_turns_; }
  std::int64_t collectives() const { return collectives_; }
  // The broadcasts, then the gathers, of one of `buckets` equal parts; none where there are no
  // flows.
  std::vector<TrafficPhase> PhasesOf(std::int64_t buckets) const;

 private:
  // Positions of a stage's ranks that gather from each other, one for each part.
  using Group = std::vector<std::size_t>;

  const Plan& plan_;
  const WrittenSide& source_;
  std::vector<std::vector<RankIndex>> stages_;           // each stage's ranks, ascending
  std::vector<std::size_t> positions_;                   // by rank, in its stage
  std::vector<std::vector<std::int64_t>> broadcast_;     // bytes by stage and position
  std::map<Group, std::vector<std::int64_t>> gathered_;  // bytes that each member brings
  std::int64_t host_turns_ = 0;
  std::int64_t collectives_ = 0;
};

}  // namespace reshard
