#include "simulator/connection_memory.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "schedules/carried_bytes.h"
#include "simulator/peer_channels.h"

namespace reshard {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

}  // namespace

ConnectionNeeds MostConnectionMemory(const Plan& plan, const Constants& constants) {
  std::vector<std::pair<RankIndex, RankIndex>> pairs;  // both ways round
  for (const CarriedBytes& carried : ListCarriedBytes(plan)) {
    if (carried.bytes == 0) continue;
    pairs.emplace_back(carried.from, carried.to);
    pairs.emplace_back(carried.to, carried.from);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());

  const auto domain_of = [&](RankIndex rank) {
    return plan.job.ranks[static_cast<std::size_t>(rank)].domain;
  };
  std::vector<ConnectionNeeds> needs(plan.job.ranks.size());
  for (const auto& [rank, peer] : pairs) {
    ConnectionNeeds& own = needs[static_cast<std::size_t>(rank)];
    ++(domain_of(rank) == domain_of(peer) ? own.nvlink_peers : own.network_peers);
  }
  ConnectionNeeds most;
  for (ConnectionNeeds& own : needs) {
    const double nvlink_mib = static_cast<double>(own.nvlink_peers) *
                              static_cast<double>(ChannelsPerPeer(plan, constants)) *
                              constants.nvlink_connection_mib;
    const double network_mib = own.network_peers > 0 ? constants.network_pool_mib : 0;
    own.bytes = std::llround((nvlink_mib + network_mib) * kMiB);
    if (own.bytes > most.bytes) most = own;
  }
  return most;
}

}  // namespace reshard
