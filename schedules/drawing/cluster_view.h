// The cluster as a picture: NVLink domains, what they hold and need, and what flows between them.
#pragma once

#include <string>
#include <vector>

#include "foundation/error.h"
#include "schedules/drawing/domain_traffic.h"
#include "schedules/drawing/graph.h"
#include "schedules/plan.h"
#include "topology/cluster.h"

namespace reshard {

// Up to twelve domains with ranks are drawn one by one, with an arrow for each pair that exchanges
// over NICs. Of more, equal neighbours are drawn as one, and a matrix shows the bytes between
// domains. What the lower bound names as binding is red. `utilisation` may be empty.
Result<std::string> DrawClusterView(const Plan& plan, const Cluster& cluster,
                                    const std::vector<ResourceBusy>& utilisation,
                                    DrawingFormat format);

}  // namespace reshard
