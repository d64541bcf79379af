// Proven minimum times of a refit, each with its witness. No solver is included here: whatever a
// solver proposes (weights of domains, say) is evaluated, never trusted.
#pragma once

#include <vector>

#include "compiler/rank_resources.h"
#include "schedules/demand.h"
#include "schedules/plan.h"
#include "topology/cluster.h"

namespace reshard {

// The largest of all bounds, and what binds. 0 seconds, with a description, if nothing moves.
BoundWitness LowerBound(const JobRecords& job, const Demand& demand, const Cluster& cluster,
                        const RankResources& resources);

// Every bound that applies, strongest first.
std::vector<BoundWitness> LowerBounds(const JobRecords& job, const Demand& demand,
                                      const Cluster& cluster, const RankResources& resources);

}  // namespace reshard
