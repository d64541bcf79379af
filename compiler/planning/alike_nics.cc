#include "compiler/planning/alike_nics.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>

namespace reshard {
namespace {

constexpr double kTicksPerGBps = 1e3;  // rates are the same to the MB/s

// GB/s of the NICs that serve one rank, as most ranks with a NIC at work have it.
double CommonRate(const DomainResources& domain, const RankResources& resources) {
  std::map<std::int64_t, std::int64_t> ranks_of_rate;
  std::int64_t ranks = 0;
  double sum = 0;
  for (const RankIndex r : domain.ranks) {
    if (!resources.HasNic(r)) continue;
    const double rate = resources.network_gbps[static_cast<std::size_t>(r)];
    ++ranks_of_rate[std::llround(rate * kTicksPerGBps)];
    ++ranks;
    sum += rate;
  }
  for (const auto& [rate, count] : ranks_of_rate) {
    if (2 * count > ranks) return static_cast<double>(rate) / kTicksPerGBps;
  }
  return ranks > 0 ? sum / static_cast<double>(ranks) : 0;
}

}  // namespace

std::optional<RankResources> WithAlikeNics(const RankResources& resources, RailCrossing crossing) {
  RankResources alike = resources;
  alike.dealt_gbps = resources.network_gbps;
  bool differs = false;
  for (const DomainResources& domain : resources.domains) {
    const double common = CommonRate(domain, resources);
    for (const RankIndex rank : domain.ranks) {
      double& rate = alike.dealt_gbps[static_cast<std::size_t>(rank)];
      if (rate <= 0 || std::llround((rate - common) * kTicksPerGBps) == 0) continue;
      if (rate > common) alike.network_peak_gbps[static_cast<std::size_t>(rank)] *= common / rate;
      rate = common;
      differs = true;
    }
  }
  if (crossing != RailCrossing::kNone && !resources.rails_meet) {
    alike.rails_meet = true;
    differs = true;
  }
  return differs ? std::optional(std::move(alike)) : std::nullopt;
}

}  // namespace reshard
