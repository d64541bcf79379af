// What a plan knows about its traffic that NCCL would otherwise have to assume.
#pragma once

#include <cstdint>
#include <optional>

namespace reshard {

// Channels of each network peer, for a plan whose ranks have `peers_max` peers at most; nothing for
// a plan without peers. All ranks must get the same. The simulator counts on it
// (networkChannelsPerPeer): with two channels the largest reference jobs take a third longer.
//
// NCCL halves the channels of a peer until perPeer * ceil(peers / 8) fits its point-to-point
// channels (32 at most), and takes the number of ranks for the number of peers: with a thousand
// ranks one channel of some 13 GB/s is left, and a NIC of 48 GB/s wants four. A number that is set
// it takes as it is (2.30, graph/paths.cc); of more than 64 peers at once some then wait for
// others.
std::optional<int> NetworkChannelsPerPeer(std::int64_t peers_max);

}  // namespace reshard
