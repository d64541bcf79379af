// Utilisation over time, summed up by NVLink domain.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "schedules/plan.h"
#include "schedules/replay_record.h"
#include "simulator/machine.h"
#include "simulator/timeline.h"
#include "topology/cluster.h"

namespace reshard {

// The NICs that serve one of `ranks`, which sit on GPUs of `cluster`, ascending.
std::vector<NicIndex> NicsOfRanks(std::span<const Rank> ranks, const Cluster& cluster);

// By domain of `cluster`, the first `stretches` stretches of `timeline`. A domain without NICs or
// NVLink is never busy. The ranks of `plan` sit on GPUs of `cluster`.
std::vector<DomainLoad> DomainLoads(const Plan& plan, const Cluster& cluster,
                                    const Machine& machine, const Timeline& timeline,
                                    std::size_t stretches);

}  // namespace reshard
