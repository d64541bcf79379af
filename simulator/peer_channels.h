// Channels over which NCCL deals the messages to a network peer.
#pragma once

#include <cstdint>

#include "simulator/constants.h"
#include "topology/cluster.h"

namespace reshard {

// networkChannelsPerPeer, or more where the NICs of a GPU are faster than those channels: the next
// power of two, as NCCL rounds (2.30.7, graph/paths.cc, before it halves them by the number of
// peers, which a plan knows better: maxP2pPeers, nChannelsPerNetPeer). NICs count at `nic_share`.
std::int64_t ChannelsPerPeer(const Cluster& cluster, const Constants& constants, double nic_share);

}  // namespace reshard
