// What the simulator says, as the drawings take it.
#pragma once

#include <vector>

#include "schedules/drawing/domain_traffic.h"
#include "simulator/simulate.h"

namespace reshard {

inline std::vector<ResourceBusy> BusyResources(const SimulationResult& result) {
  std::vector<ResourceBusy> busy;
  busy.reserve(result.resources.size());
  for (const ResourceUse& use : result.resources) busy.push_back({use.name, use.busy});
  return busy;
}

}  // namespace reshard
