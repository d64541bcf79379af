// What a plan knows about its traffic that NCCL would otherwise have to assume.
#pragma once

#include <cstdint>
#include <optional>

namespace reshard {

// Channels of each network peer, from the most peers any rank of the plan has; nothing where
// NCCL's own choice is as good. All ranks must get the same.
//
// NCCL halves the channels of a peer until perPeer * ceil(peers / 8) fits its point-to-point
// channels (32 at most), and takes the number of ranks for the number of peers: with a thousand
// ranks one channel of some 13 GB/s is left, and a NIC of 48 GB/s wants four (graph/paths.cc).
std::optional<int> NetworkChannelsPerPeer(std::int64_t peers_max);

}  // namespace reshard
