// SimGrid as an independent judge of whole plans: ranks, lanes, waits and rounds are its actors,
// and it shares the links. Of the simulator it takes what a plan moves in which round over what,
// and no time.
#pragma once

#include <span>
#include <vector>

#include "simulator/replay_model.h"

namespace reshard {

// The end of each plan, in seconds, without launches, groups, latencies and caps. A transfer takes
// a link whole (shares of 1). May be called once a process, as SimGrid keeps one platform for its
// life.
std::vector<double> PlanEndsBySimGrid(std::span<const ReplayModel> models);

}  // namespace reshard
