// Whether the numbers in a plan that count into its own tables do so: what must hold before
// anything else about it can be looked at.
#pragma once

#include "foundation/error.h"
#include "schedules/plan.h"

namespace reshard {

// Tables that have a row per rank have one; rank sets, classes, tensors, parameters, layouts,
// profiles, columns, slots, items and ranks that rows name are there; fragments lie class by class;
// boxes have as many dims as their tensor; programs ascend by (layout, class) and have an entry per
// fragment. An Error names the first row that breaks this.
Result<void> PlanIndicesFit(const Plan& plan);

}  // namespace reshard
