// A predicted replay as a trace, to be opened in Perfetto or chrome://tracing: the schema of
// simulator/trace_events.h, with more processes and events.
//
// Processes 0 .. ranks - 1 are the ranks; a step is a slice that says the bytes it copies or the
// operations of its NCCL group. An arrow is a transfer, from the sender's exchange step to the
// receiver's. Process `ranks` holds a counter in % for the NICs of each domain, each way, and for
// its NVLink; process `ranks` + 1 one in GB/s for each NIC, each way, and for NVLink of each GPU.
//
// The size is bounded: of a large job only some transfers have arrows (those over NICs, then those
// of every second, third, .. round), and counters have fewer points. `otherData` says so.
#pragma once

#include <cstdint>
#include <string>

#include "foundation/error.h"
#include "schedules/plan.h"
#include "simulator/constants.h"
#include "topology/cluster.h"

namespace reshard {

struct TraceOptions {
  std::int64_t arrows_max = 50'000;
  // Of all counters together, but at least 10 and at most 400 of each.
  std::int64_t counter_points_max = 200'000;
};

struct Trace {
  std::string text;      // JSON
  std::string arrows;    // "all 640 transfers", "23,552 of 1,204,224 transfers: .."
  std::string counters;  // "mean rates over 557.3 us each"
};

// Runs the long way, so its last step may end up to a hundred thousandth away from Simulate()'s
// seconds; fails as Simulate() does.
Result<Trace> MakeTrace(const Plan& plan, const Cluster& cluster, const Constants& constants,
                        const TraceOptions& options = {});

}  // namespace reshard
