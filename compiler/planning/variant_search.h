// Which of the plans that could be made is made.
//
// The same senders in more or fewer stripes, the same groups in several phases or in one, NICs
// level rank by rank or domain by domain or as if all were alike, exits that keep what they pass on
// or do not, holders inside a domain that serve all receivers or one of them: which is better
// depends on how many channels a NIC needs, how irregular the traffic is and how long the job. The
// cost model says. All variants but the first are tried only where that is not near the bound, with
// its shape of rounds; the best of them gets a shape of its own.
#pragma once

#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/domain_assignment.h"
#include "compiler/planning/rail_bundles.h"
#include "foundation/error.h"
#include "schedules/cost_model.h"
#include "schedules/plan.h"

namespace reshard {

// Lowers the best variant into `plan`. `domains`: what each domain sends, where that is fixed.
// `alike`: the machine without its exceptions, where it has any (compiler/planning/alike_nics.h).
// Fails where none fits the options.
Result<void> SearchVariants(const CostModel& cost_model, const Deliveries& deliveries,
                            const RankResources& resources, const RankResources* alike,
                            const RailBundles& bundles, double bound_seconds,
                            const DomainAssignment* domains, Plan& plan);

}  // namespace reshard
