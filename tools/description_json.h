// Descriptions of ranks and classes, and differences of plans, as the fields of --json.
#pragma once

#include <vector>

#include "foundation/json_value.h"
#include "schedules/description.h"
#include "schedules/plan.h"
#include "schedules/plan_difference.h"

namespace reshard {

JsonValue::Object DescriptionFields(const RankDescription& description);
// `plan` gives the names of tensors.
JsonValue::Object DescriptionFields(const ClassDescription& description, const Plan& plan);
JsonValue::Object DifferenceFields(const std::vector<PlanDifference>& differences);

}  // namespace reshard
