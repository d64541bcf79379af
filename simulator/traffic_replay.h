// Runs the traffic of a simulation-only plan (schedules/traffic.h) on a machine.
//
// Flows share the machine's resources max-min fairly, as those of any plan. What is counted in the
// traffic costs, per repeat of a phase:
//   a launch                  eagerLaunchUs;
//   a host synchronisation    hostSynchronizationUs;
//   a barrier among n ranks   ceil(log2 n) hops of the phase's longest latency (dissemination; see
//                             commit_time.h);
//   a group                   groupUs, and of sends and receives batchUs for each further batch of
//                             the busiest rank's operations (peer_channels.h);
//   hop h of a pipeline       the times that hops 0 .. h - 1 take for a chunk on their slowest path
//                             when alone on it, latency included.
// A phase of n repeats runs once, with n times the bytes, after n times these costs: equal phases
// in sequence take as long as that when nothing else shares their links.
#pragma once

#include <vector>

#include "foundation/error.h"
#include "schedules/plan.h"
#include "simulator/constants.h"
#include "simulator/flow_engine.h"
#include "simulator/machine.h"

namespace reshard {

struct TrafficTimes {
  std::vector<Nanoseconds> lane_ends;  // per rank and lane, as ReplayTimes::lane_ends
  Nanoseconds end = 0;
  std::vector<double> resource_bytes;  // that passed each resource of the machine
};

// Precondition: plan.traffic is there, its indices fit and its numbers are legal (Verify()). Fails
// where bytes have no way, or exceed 2^63.
Result<TrafficTimes> RunTraffic(const Plan& plan, const Machine& machine,
                                const Constants& constants);

}  // namespace reshard
