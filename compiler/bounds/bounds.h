// Proven minimum times of a refit, each with its witness. No solver is included here: whatever a
// solver proposes (weights of domains, say) is evaluated, never trusted.
#pragma once

#include <vector>

#include "compiler/bounds/rank_resources.h"
#include "schedules/demand.h"
#include "schedules/plan.h"
#include "topology/cluster.h"

namespace reshard {

// Prices of a domain's egress and ingress, in no particular unit: any choice of prices proves a
// bound (weak duality), a good one the strongest.
struct DomainWeights {
  std::vector<double> egress;  // per domain of the cluster, >= 0
  std::vector<double> ingress;
};

// The largest of all bounds, and what binds. 0 seconds, with a description, if nothing moves.
BoundWitness LowerBound(const JobRecords& job, const Demand& demand, const Cluster& cluster,
                        const RankResources& resources, const DomainWeights* weights = nullptr);

// Every bound that applies, strongest first; LB4 only with `weights`.
std::vector<BoundWitness> LowerBounds(const JobRecords& job, const Demand& demand,
                                      const Cluster& cluster, const RankResources& resources,
                                      const DomainWeights* weights = nullptr);

}  // namespace reshard
