// How many rounds, and how long: asked of the cost model, within staging and chunk ceilings.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/rounds.h"
#include "compiler/planning/routes.h"
#include "schedules/cost_model.h"
#include "schedules/plan.h"

namespace reshard {

// How the rounds of a plan are cut, and what the cost model says to it.
struct ShapeChoice {
  std::int32_t before = 1;  // rounds of the phases before the last one, together
  RoundShape last;
  double seconds = 0;  // predicted; 0 where the plan is too large to try others
};

// Lowers `routes` into `plan` with the shape of rounds that the cost model likes best.
// `peak_network_bytes`: the most that any rank's NICs carry one way. Where staging asks for many
// rounds, a prediction of at most `enough_seconds` is taken as it is. Fails where no number of
// rounds fits options.stagingMiB or options.chunkMiB.
Result<ShapeChoice> SearchShapes(const CostModel& cost_model, const Deliveries& deliveries,
                                 const Routes& routes, const Phases& phases,
                                 std::int64_t peak_network_bytes, double enough_seconds,
                                 Plan& plan);

// The same with the shape given. None if it does not fit.
Result<std::optional<ShapeChoice>> TryShape(const CostModel& cost_model,
                                            const Deliveries& deliveries, const Routes& routes,
                                            const Phases& phases, const ShapeChoice& shape,
                                            Plan& plan);

}  // namespace reshard
