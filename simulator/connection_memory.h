// Memory that NCCL takes for a plan's connections, beyond its staging.
#pragma once

#include <cstdint>

#include "schedules/plan.h"
#include "simulator/constants.h"

namespace reshard {

struct ConnectionNeeds {
  std::int64_t nvlink_peers = 0;   // of the rank that needs most: other ranks of its domain
  std::int64_t network_peers = 0;  // of that rank
  std::int64_t bytes = 0;          // of that rank, estimated
};

// The rank whose connections take most. NCCL (2.30.7) keeps a buffer for each channel of each
// NVLink peer, allocated when the peer is first used, and one pool for the network in each
// direction. Ranks without peers take nothing. Channels of a peer: peer_channels.h. `plan` has
// passed Verify().
ConnectionNeeds MostConnectionMemory(const Plan& plan, const Constants& constants);

}  // namespace reshard
