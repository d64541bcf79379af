// A simulation as a record of everything that happened, for pictures and comparisons.
#pragma once

#include <cstdint>

#include "foundation/error.h"
#include "schedules/plan.h"
#include "schedules/replay_record.h"
#include "simulator/constants.h"
#include "topology/cluster.h"

namespace reshard {

// Runs the long way: the end may lie a hundred thousandth away from Simulate()'s seconds. `loads`
// has about `stretches` (> 0) stretches of equal time. Fails as Simulate() does.
Result<ReplayRecord> RecordReplay(const Plan& plan, const Cluster& cluster,
                                  const Constants& constants, std::int64_t stretches = 400);

}  // namespace reshard
