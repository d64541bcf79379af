// How many rounds, and how long: asked of the cost model, within staging and chunk ceilings.
#pragma once

#include <cstdint>

#include "compiler/delivery_groups.h"
#include "compiler/rounds.h"
#include "compiler/routes.h"
#include "schedules/cost_model.h"
#include "schedules/plan.h"

namespace reshard {

// Lowers `routes` into `plan` with the shape of rounds that the cost model likes best.
// `peak_network_bytes`: the most that any rank's NICs carry one way. Fails where no number of
// rounds fits options.stagingMiB or options.chunkMiB.
Result<void> SearchShapes(const CostModel& cost_model, const Deliveries& deliveries,
                          const Routes& routes, const Phases& phases,
                          std::int64_t peak_network_bytes, Plan& plan);

}  // namespace reshard
