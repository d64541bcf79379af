// Which domain sends how much of what, where no domain both holds and receives: a flow, whose exact
// optimum is the largest of bounds LB3, with what does not bind even too.
#pragma once

#include "compiler/delivery_groups.h"
#include "compiler/domain_assignment.h"
#include "compiler/rank_resources.h"

namespace reshard {

// All classes of a group with holders in the same domains are split alike. `weights` stay empty.
DomainAssignment AssignEgress(const Deliveries& deliveries, const Demand& demand,
                              const RankResources& resources);

}  // namespace reshard
