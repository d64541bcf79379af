#include "compiler/planning/channel_choice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// What NCCL (2.30.7, graph/paths.cc) takes for the rate of a channel to a network peer.
constexpr double kNcclChannelGbps = 14;

bool HasNetwork(const RankResources& resources) {
  return std::ranges::any_of(
      resources.domain, [&](DomainIndex domain) { return domain != resources.domain.front(); });
}

// Channels of `channel_gbps` that fill the NICs of the rank with the fastest ones; a power of two.
std::int64_t FillingChannels(const RankResources& resources, double channel_gbps,
                             std::int64_t most) {
  double fastest = 0;
  for (const double gbps : resources.network_peak_gbps) fastest = std::max(fastest, gbps);
  const double wanted =
      std::clamp(std::ceil(fastest / channel_gbps), 1.0, static_cast<double>(kMostChannels));
  const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
  const auto possible = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::clamp(most, std::int64_t{1}, kMostChannels))));
  return std::min(power, possible);
}

}  // namespace

std::int64_t CountPeers(const Plan& plan) {
  std::vector<std::pair<RankIndex, RankIndex>> pairs;  // both ways round
  for (const Transfer& transfer : plan.transfers) {
    pairs.emplace_back(transfer.from, transfer.to);
    pairs.emplace_back(transfer.to, transfer.from);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  std::int64_t most = 0;
  for (std::size_t begin = 0; begin < pairs.size();) {
    std::size_t end = begin;
    while (end < pairs.size() && pairs[end].first == pairs[begin].first) ++end;
    most = std::max(most, static_cast<std::int64_t>(end - begin));
    begin = end;
  }
  return most;
}

std::int64_t ChooseChannelsPerNetPeer(const RankResources& resources, const ChannelFacts& facts) {
  if (!HasNetwork(resources)) return 0;
  return FillingChannels(resources, facts.network_gbps, facts.channels);
}

ChannelHints ChannelsByNccl(const RankResources& resources, const ChannelFacts& facts) {
  const auto ranks = static_cast<std::int64_t>(resources.domain.size());
  if (!HasNetwork(resources)) return {ranks, 0};
  std::int64_t channels = FillingChannels(resources, kNcclChannelGbps, facts.channels);
  const std::int64_t turns = CeilDivide(ranks, facts.operations_together);
  while (channels > 1 && channels * turns > facts.channels) channels /= 2;
  return {ranks, channels};
}

}  // namespace reshard
