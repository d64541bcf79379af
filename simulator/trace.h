// A replay as a Chrome trace, to be opened in Perfetto or chrome://tracing.
//
// Format: "Trace Event Format" (Google, catapult project), JSON object form. Processes 0 .. ranks -
// 1 are the ranks, with a thread for each lane; a step is a slice "round 12". Process `ranks` holds
// a counter in GB/s for each NIC, each way, and for NVLink of each GPU. An arrow is a transfer,
// from the sender's exchange step to the receiver's.
#pragma once

#include <cstdint>
#include <string>

#include "foundation/error.h"
#include "schedules/plan.h"
#include "simulator/constants.h"
#include "topology/cluster.h"

namespace reshard {

struct TraceOptions {
  std::int64_t arrows_max = 100'000;  // the first transfers, in order of their ends, get one
  std::int64_t counter_points = 400;  // stretches of time whose mean rate a counter shows
};

// The trace's JSON text. Runs the long way, so its last step may end up to a hundred thousandth
// away from Simulate()'s seconds; fails as Simulate() does.
Result<std::string> MakeTrace(const Plan& plan, const Cluster& cluster, const Constants& constants,
                              const TraceOptions& options = {});

}  // namespace reshard
