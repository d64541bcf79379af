// In what two plans differ, from the whole to the single rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/plan.h"

namespace reshard {

// One thing that differs, with units: "rounds", "174", "96".
struct PlanDifference {
  std::string what;
  std::string left;
  std::string right;
  bool operator==(const PlanDifference&) const = default;
};

// Job, demand, schedule and certificate, in this order; none if the plans are equal. Tensors, ranks
// and classes that differ are counted, and the first few named.
std::vector<PlanDifference> DiffPlans(const Plan& left, const Plan& right);

// One line each: "rounds: 174 -> 96"; "the plans are equal" if there are none.
std::string Text(const std::vector<PlanDifference>& differences);

}  // namespace reshard
