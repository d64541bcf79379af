// A replay over time as a picture: what each rank or domain does when, lane by lane.
#pragma once

#include <string>

#include "foundation/error.h"
#include "schedules/plan.h"
#include "schedules/replay_record.h"
#include "topology/cluster.h"

namespace reshard {

// Up to 24 ranks: a row for each, its three lanes above each other, a slice for each step with the
// number of its round. Of more ranks a row for each lane of each domain (of more than twelve
// domains, alike ones together), the darker the more of its ranks are at a step. Below each domain
// how busy its NICs and NVLink are; the lower bound is a red line. `record` is of a replay of
// `plan` on `cluster`; an SVG.
Result<std::string> DrawTimelineView(const Plan& plan, const Cluster& cluster,
                                     const ReplayRecord& record);

}  // namespace reshard
