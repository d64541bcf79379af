// A set of flows as SimGrid is given it, through the simulator's own engine.
#pragma once

#include <vector>

#include "simgrid_oracle.h"

namespace reshard {

// End of each flow, in seconds.
std::vector<double> EndsByEngine(const OracleSet& set);

}  // namespace reshard
