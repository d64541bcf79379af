#include "simulator/peer_channels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace reshard {
namespace {

constexpr double kMostChannels = 32;  // that a communicator has for sends and receives

}  // namespace

std::int64_t ChannelsPerPeer(const Cluster& cluster, const Constants& constants, double nic_share) {
  double fastest = 0;
  for (const Gpu& gpu : cluster.gpus) {
    double gbps = 0;
    for (const NicIndex nic : gpu.nics) {
      gbps += std::max(cluster.nics[static_cast<std::size_t>(nic)].gbps, 0.0) * nic_share;
    }
    fastest = std::max(fastest, gbps);
  }
  const auto wanted = static_cast<std::uint64_t>(
      std::min(std::ceil(fastest / constants.network_channel_gbps), kMostChannels));
  return std::max(constants.network_channels_per_peer,
                  static_cast<std::int64_t>(std::bit_ceil(wanted)));
}

}  // namespace reshard
