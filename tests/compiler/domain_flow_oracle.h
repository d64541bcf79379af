// The least time in which traffic between domains can be over, NVLink left out: the flow program of
// the field, written down once more and solved by CLP directly. Judges bounds and assignments.
#pragma once

#include "compiler/bounds/rank_resources.h"
#include "schedules/demand.h"

namespace reshard {

// 0 if nothing crosses between domains. Every class by itself; variables per class c of n_c needer
// domains without a holder:
//   o[c,u]  bytes that leave domain u;  z[c,h]  bytes a helper h takes in;  T
//   sum_u o[c,u] = B_c n_c + sum_h z[c,h]         every copy taken in was sent
//   sum over holders of o[c,u] >= B_c             each byte leaves the holders once at least
//   needer u: o[c,u] <= B_c (n_c - 1) + sum_h z   it sends on what it has to the others
//   helper h: o[c,h] <= n_c z[c,h] + sum over other helpers of z
//   sum_c o[c,u] <= E_u T,   sum over c needed in u of B_c + sum_c z[c,u] <= I_u T
double FlowOptimumSeconds(const JobRecords& job, const Demand& demand,
                          const RankResources& resources);

}  // namespace reshard
