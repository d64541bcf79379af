// Flow-level replay of a plan over a cluster: predicted times, never measured ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "schedules/plan.h"
#include "simulator/constants.h"
#include "topology/cluster.h"

namespace reshard {

struct ResourceUse {
  std::string name;  // "NIC 17 out", "GPU 3 NVLink in", "GPU 3 HBM", "domain 2 ingress"
  double rate_gbps = 0;
  std::int64_t bytes = 0;
  double busy = 0;  // bytes / (rate * total time): mean utilisation
};

struct RankTimes {
  double pack_end_seconds = 0;
  double exchange_end_seconds = 0;
  double unpack_end_seconds = 0;
};

struct SimulationResult {
  double seconds = 0;
  std::vector<RankTimes> ranks;
  std::vector<ResourceUse> resources;  // NICs, then NVLink, then HBM, then fabric; cluster order
  // Latest end over ranks of the exchange of each round; none for a simulation-only plan.
  std::vector<double> round_end_seconds;
};

// `plan` has passed Verify(), or is at least whole: indices, rounds and weights are checked, what
// the plan achieves is not. `cluster` is the plan's own or an edited one with the same GPUs. Fails
// where bytes have no way (a rate of 0, a dead GPU, rails that do not meet), naming the GPU or NIC.
// Times are those of the model to a nanosecond an event, but within 2^-9 of themselves for plans
// of more than 131,072 transfers (ReplayModel::tolerance).
Result<SimulationResult> Simulate(const Plan& plan, const Cluster& cluster,
                                  const Constants& constants);

// SimulationResult::seconds of the same arguments, without the rest.
Result<double> SimulateSeconds(const Plan& plan, const Cluster& cluster,
                               const Constants& constants);

}  // namespace reshard
