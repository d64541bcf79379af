#include "runtime/nccl/channel_hints.h"

namespace reshard {

std::optional<int> NetworkChannelsPerPeer(std::int64_t peers_max) {
  constexpr std::int64_t kPointToPointChannels = 32;
  constexpr std::int64_t kPeersInFlight = 8;
  constexpr int kWanted = 4;
  if (peers_max <= 0) return std::nullopt;
  const std::int64_t batches = (peers_max + kPeersInFlight - 1) / kPeersInFlight;
  for (int channels = kWanted; channels > 1; channels /= 2) {
    if (channels * batches <= kPointToPointChannels) return channels;
  }
  return std::nullopt;
}

}  // namespace reshard
