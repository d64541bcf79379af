#include "simulator/message.h"

#include <algorithm>
#include <cmath>

#include "foundation/checked_arithmetic.h"
#include "simulator/peer_channels.h"

namespace reshard {
namespace {

std::int64_t BytesOf(double kib) { return std::llround(kib * 1024); }

}  // namespace

MessageRules::MessageRules(const Plan& plan, const Constants& constants,
                           std::int64_t channels_per_peer)
    : channels_per_peer_(channels_per_peer), fewest_channels_(channels_per_peer) {
  const std::int64_t hinted = plan.channels.max_p2p_peers;
  const auto ranks = static_cast<std::int64_t>(plan.job.ranks.size());
  const std::int64_t peers = std::max<std::int64_t>(1, hinted > 0 ? hinted : ranks);
  // Try to have channels left for all peers.
  while (fewest_channels_ > 1 && fewest_channels_ > constants.channels / peers) {
    fewest_channels_ /= 2;
  }
  if (HasNetwork(plan.job)) {
    const std::int64_t step = std::max<std::int64_t>(2, BytesOf(constants.network_step_kib));
    least_part_bytes_ = step / 2;
    most_part_bytes_ = step;
  } else {
    const std::int64_t step = std::max<std::int64_t>(8, BytesOf(constants.nvlink_step_kib));
    least_part_bytes_ = step / 8;
    most_part_bytes_ = step * 32;
  }
  ll_bytes_ = BytesOf(constants.ll_kib) * channels_per_peer;
  // Channels that are the fewest from the start need enough of the least parts; each doubling from
  // there needs parts beyond the most.
  long_bytes_ = (fewest_channels_ - 1) * least_part_bytes_ + 1;
  if (fewest_channels_ < channels_per_peer) {
    long_bytes_ = std::max(long_bytes_, channels_per_peer / 2 * most_part_bytes_ + 1);
  }
}

std::int64_t MessageRules::Channels(std::int64_t bytes) const {
  if (bytes >= long_bytes_) return channels_per_peer_;
  std::int64_t channels = std::min(fewest_channels_, CeilDivide(bytes, least_part_bytes_));
  while (CeilDivide(bytes, channels) > most_part_bytes_ && channels <= channels_per_peer_ / 2) {
    channels *= 2;
  }
  return channels;
}

}  // namespace reshard
