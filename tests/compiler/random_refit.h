// Refits of 4 to 800 ms, from a seed: what a planner's gap is surveyed on.
//
// Drawn are
//   machine  2 to 6 domains of 1, 2, 4 or 8 GPUs, 24 GPUs at most; NVLink and NICs at the rates of
//            the built-in types, in a fifth of cases different ones together; domains of one size
//            in three quarters; one NIC a GPU, one for two GPUs in an eighth, and in another eighth
//            some NICs at half their rate
//   sides    disjoint by domains, disjoint within domains, overlapping, equal
//   groups   1 to 3 a side, ranks mostly in order; a tensor lies in one group of the source or in
//            all, in most groups of the destination
//   layouts  per group a mesh of 1 to 3 axes; per tensor, each axis replicates or cuts a dim
//   bytes    3 to 10 tensors that differ by up to 16 in size, all scaled such that the lower bound
//            is the drawn time, logarithmically uniform
#pragma once

#include <cstdint>
#include <string>

#include "schedules/job_records.h"
#include "topology/cluster.h"

namespace reshard {

struct RandomRefit {
  Cluster cluster;
  JobRecords job;
  std::string kind;  // "disjoint domains", "disjoint ranks", "overlapping" or "equal"
};

// Bytes move in every one of them.
RandomRefit MakeRandomRefit(std::uint64_t seed);

}  // namespace reshard
