// Routes -> the plan's records: columns with profiles, slots, transfers, waits.
#pragma once

#include <vector>

#include "compiler/planning/rounds.h"
#include "compiler/planning/routes.h"
#include "compiler/planning/transfer_links.h"
#include "schedules/plan.h"

namespace reshard {

// The most staging any rank needs, for the slots of the last phase and for those of all before.
struct LoweringSummary {
  std::int64_t last_phase_staging_bytes = 0;
  std::int64_t earlier_staging_bytes = 0;
};

// Fills profiles, columns, transfers, schedules and round_count of `plan` from its job and demand.
// `links` are those of `routes`; `shapes` has one entry per phase.
LoweringSummary LowerRoutes(const Deliveries& deliveries, const Routes& routes,
                            const Phases& phases, const TransferLinks& links,
                            const std::vector<RoundShape>& shapes, Plan& plan);

// The largest staging any rank of `plan` needs.
std::int64_t StagingBytesMax(const Plan& plan);

}  // namespace reshard
