#include "simulator/peer_channels.h"

#include <algorithm>

namespace reshard {

std::int64_t ChannelsPerPeer(const Plan& plan, const Constants& constants) {
  const std::int64_t hinted = plan.channels.channels_per_net_peer;
  const bool has_network = std::ranges::any_of(plan.job.ranks, [&](const Rank& rank) {
    return rank.domain != plan.job.ranks.front().domain;
  });
  return has_network && hinted > 0 ? std::min(hinted, constants.channels) : constants.channels;
}

std::int64_t OperationsTogether(std::int64_t channels_per_peer, const Constants& constants) {
  return std::max<std::int64_t>(1, constants.channels / channels_per_peer) *
         constants.operations_per_channel;
}

}  // namespace reshard
