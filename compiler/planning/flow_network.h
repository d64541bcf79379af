// Who supplies how much, exactly: the least time in which all demands can be met, by parametric
// maximum flow, and beyond it the lexicographically least vector of times. The only file that knows
// Boost.Graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reshard {

struct FlowDemand {
  std::int64_t bytes = 0;               // >= 0
  std::vector<std::int32_t> suppliers;  // ascending; one with a capacity, at least, if bytes > 0
};

struct LevelFlow {
  // Per demand and supplier of it. Sums to the demand.
  std::vector<std::vector<std::int64_t>> bytes;
  // The greatest load / capacity is level_bytes / level_capacity: demands of so many bytes have
  // suppliers of so much capacity and no others. 0 / 1 if nothing is demanded.
  std::int64_t level_bytes = 0;
  std::int64_t level_capacity = 1;
};

// Capacities are in any unit of rate, >= 0; those of 0 supply nothing. All bytes together stay
// below 2^62. Where capacities sum to more than 2^30 they count to one part in 2^30 of their sum.
//
// T = max over sets C of demands of bytes(C) / capacity(suppliers of C). Discrete Newton finds it:
// start with all demands; a maximum flow at T either meets them, or its minimum cut is a set of a
// greater T (Radzik 1998; few rounds in practice). The last such set then supplies itself alone, at
// level T; what is left is levelled in turn without it (the decomposition of Fujishige 1980). Loads
// are whole bytes and exceed their level by less than one.
LevelFlow FindLevelFlow(std::span<const FlowDemand> demands,
                        std::span<const std::int64_t> capacities);

}  // namespace reshard
