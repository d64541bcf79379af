// One class as a picture: how its bytes get from holders to needers.
#pragma once

#include <string>

#include "foundation/error.h"
#include "schedules/drawing/graph.h"
#include "schedules/plan.h"

namespace reshard {

// Ranks framed by domain, an arrow per hop with the round of its first chunk: thick over NICs, thin
// over NVLink, one colour per column. Ranks that only receive, at the same time from the same rank,
// are drawn as one. Of many columns the largest are drawn, and the picture says so. `demand_class`
// is a class of `plan`, which has passed Verify().
Result<std::string> DrawClassView(const Plan& plan, ClassIndex demand_class, DrawingFormat format);

}  // namespace reshard
