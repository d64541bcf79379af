// A made-up replay to draw: half of the domains send to the other half, round by round.
#pragma once

#include <cstdint>

#include "schedules/plan.h"
#include "schedules/replay_record.h"
#include "topology/cluster.h"

namespace reshard {

struct DrawnReplay {
  Cluster cluster;
  Plan plan;
  ReplayRecord record;
};

// `gpus` ranks in each of `domains` domains; domain `domains` - 1's ingress binds. Round r carries
// 1,000,000 * (r + 1) bytes out of each source domain, and takes a millisecond.
DrawnReplay MakeDrawnReplay(std::int32_t domains, std::int32_t gpus, RoundIndex rounds);

}  // namespace reshard
