#include "compiler/planner.h"

#include "compiler/optimal_planner.h"

namespace reshard {

std::unique_ptr<Planner> MakePlanner(std::string_view name) {
  if (name == "optimal") return std::make_unique<OptimalPlanner>();
  return nullptr;
}

std::vector<std::string_view> PlannerNames() { return {"optimal"}; }

}  // namespace reshard
