#include "simulator/peer_channels.h"

#include <algorithm>

namespace reshard {

bool HasNetwork(const JobRecords& job) {
  return std::ranges::any_of(
      job.ranks, [&](const Rank& rank) { return rank.domain != job.ranks.front().domain; });
}

std::int64_t ChannelsPerPeer(const Plan& plan, const Constants& constants) {
  const std::int64_t hinted = plan.channels.channels_per_net_peer;
  return HasNetwork(plan.job) && hinted > 0 ? std::min(hinted, constants.channels)
                                            : constants.channels;
}

std::int64_t OperationsTogether(std::int64_t channels_per_peer, const Constants& constants) {
  return std::max<std::int64_t>(1, constants.channels / channels_per_peer) *
         constants.operations_per_channel;
}

}  // namespace reshard
