// The least time in which traffic between domains can be over on a fabric whose rails or switches
// limit it, NVLink left out: the flow program of the field by pair of domains and of rails, solved
// by CLP. Judges bounds and plans.
#pragma once

#include "schedules/demand.h"
#include "topology/cluster.h"

namespace reshard {

// 0 if nothing crosses between domains, negative if it cannot. The program of multicast with coding
// (Ahlswede et al. 2000: what every needer could get alone, all can get at once), so nothing that
// copies and forwards is faster. Variables per class c (all classes of equal domains as one) of B
// bytes:
//   x[c,u,v,r,s] >= 0  bytes from domain u's NICs on rail r to those of v on rail s, u != v, v no
//                      holder; r = s where nothing crosses;  T
//   f[c,t,u,v] >= 0    of them, per needer domain t without a holder, a flow of B from the holders:
//     f[c,t,u,v] <= sum over rails of x[c,u,v];   into t: sum f = B;
//     at every other domain without a holder: sum of f in = sum of f out
//   per domain and rail, each way: sum over c <= NICs * T
//   per rail, each way: what crosses <= NICs of the rail * T / spineOversubscription
//   per switch, each way: what passes <= NICs under it * T / its oversubscription
double FabricFlowOptimumSeconds(const JobRecords& job, const Demand& demand,
                                const Cluster& cluster);

}  // namespace reshard
