// Rounds as a picture: what each carries, domain by domain, and how long it takes.
#pragma once

#include <string>

#include "foundation/error.h"
#include "schedules/plan.h"
#include "schedules/replay_record.h"
#include "topology/cluster.h"

namespace reshard {

// A bar for each round: bytes in and out over NICs at the left, over NVLink at the right, a row for
// each domain (of more than twelve domains, alike ones together), and below them the time from the
// end of one round to that of the next. Of very many rounds several share a bar, which shows their
// mean. `record` is of a replay of `plan` on `cluster`; an SVG.
Result<std::string> DrawRoundsView(const Plan& plan, const Cluster& cluster,
                                   const ReplayRecord& record);

}  // namespace reshard
