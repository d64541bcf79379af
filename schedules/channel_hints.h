// What a plan tells NCCL about its traffic, which NCCL would otherwise have to assume.
#pragma once

#include <cstdint>

namespace reshard {

// Fields of ncclConfig_t. They decide over how many channels the bytes for a peer are dealt out,
// which bounds their rate and costs memory (simulator/peer_channels.h).
//
// NCCL (2.30, graph/paths.cc) gives a network peer as many channels as its NICs want, and halves
// them until perPeer * ceil(peers / 8) fits its point-to-point channels, so that a group's
// operations all progress at once; for the number of peers it takes that of the ranks, so that with
// a thousand of them one channel of some 13 GB/s is left. A plan knows its peers. A number of
// channels that is set is taken as it is; of more peers in one group than fit, the last ones then
// wait for others.
struct ChannelHints {
  // maxP2pPeers (2.30): the most peers of any rank, or more; 0: not set, NCCL takes the number of
  // ranks.
  std::int64_t max_p2p_peers = 0;
  // nChannelsPerNetPeer (2.28): a power of two; 0: not set, NCCL chooses.
  std::int64_t channels_per_net_peer = 0;
  bool operator==(const ChannelHints&) const = default;
};

// NCCL has no more channels (MAXCHANNELS, 2.30).
inline constexpr std::int64_t kMostChannels = 64;

}  // namespace reshard
