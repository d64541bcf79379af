// Channels over which NCCL deals out the bytes for a peer, and what follows from their number.
#pragma once

#include <cstdint>

#include "schedules/plan.h"
#include "simulator/constants.h"

namespace reshard {

// Whether ranks of `job` are in several domains.
bool HasNetwork(const JobRecords& job);

// The channels of each peer of any rank of `plan`: what its hints say, which is what the runtime
// sets. NCCL (2.30.7, graph/paths.cc) gives all peers of a communicator the same number: the
// least that any of them would get alone, and it is the network peers that get the least. Where all
// ranks are in one domain, or the hints say nothing, all channels.
std::int64_t ChannelsPerPeer(const Plan& plan, const Constants& constants);

// Sends of a rank, or receives, that progress together in one group.
std::int64_t OperationsTogether(std::int64_t channels_per_peer, const Constants& constants);

}  // namespace reshard
