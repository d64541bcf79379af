// Which domain sends how much of what, where no domain both holds and receives: a flow, whose exact
// optimum is the largest of bounds LB3, with what does not bind even too.
#pragma once

#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/domain_assignment.h"

namespace reshard {

// All classes of a group with holders in the same domains are split alike. `weights` stay empty.
DomainAssignment AssignEgress(const Deliveries& deliveries, const Demand& demand,
                              const RankResources& resources);

}  // namespace reshard
