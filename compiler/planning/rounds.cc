#include "compiler/planning/rounds.h"

#include <algorithm>
#include <numeric>

namespace reshard {
namespace {

// Beyond this many phases their rounds cost more than packing anew what does not lie together.
// The smallest groups that together are less than this share of all bytes are small, and a phase of
// small ones keeps no NIC busy for longer than the second share of the bound.
constexpr double kSmallShare = 0.05;
constexpr double kPhaseTimeShare = 0.005;

// Bytes each rank sends over the network, receives over it, sends over NVLink and receives over it,
// in this order rank by rank, per group. The fan-out behind a network hop does not count: it goes
// on below the network rounds of the next phase.
std::vector<std::vector<std::int64_t>> LinkLoads(const Deliveries& deliveries, const Routes& routes,
                                                 const RankResources& resources) {
  std::vector<std::vector<std::int64_t>> loads(
      deliveries.groups.size(), std::vector<std::int64_t>(4 * resources.domain.size(), 0));
  for (const RoutedColumn& column : routes.columns) {
    std::vector<std::int64_t>& of_group = loads[static_cast<std::size_t>(column.group)];
    for (const PathHop& hop : routes.paths[static_cast<std::size_t>(column.path)].hops) {
      const auto from =
          static_cast<std::size_t>(hop.parent == kFromSender ? column.exit : hop.from);
      const auto to = static_cast<std::size_t>(hop.to);
      const bool inside = resources.domain[from] == resources.domain[to];
      const bool local = deliveries.groups[static_cast<std::size_t>(column.group)].local;
      if (inside && (!local || hop.parent != kFromSender)) continue;
      const std::size_t link = inside ? 2 : 0;
      of_group[4 * from + link] += column.end - column.begin;
      of_group[4 * to + link + 1] += column.end - column.begin;
    }
  }
  return loads;
}

double BusySeconds(const std::vector<std::int64_t>& loads, const RankResources& resources) {
  double most = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const double rate = i % 4 < 2 ? resources.network_gbps[i / 4] : resources.nvlink_gbps[i / 4];
    if (loads[i] > 0 && rate > 0) {
      most = std::max(most, static_cast<double>(loads[i]) / (rate * 1e9));
    }
  }
  return most;
}

// One phase as it grows.
struct Draft {
  std::vector<RankIndex> receivers;
  std::vector<std::int64_t> loads;
  std::int64_t bytes = 0;
};

bool Disjoint(const std::vector<RankIndex>& a, const std::vector<RankIndex>& b) {
  std::vector<RankIndex> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both.empty();
}

std::vector<std::int64_t> Sum(std::vector<std::int64_t> a, const std::vector<std::int64_t>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// The phases that have bytes, the shortest first, and each group's among them.
Phases InAscendingOrder(const std::vector<Draft>& drafts,
                        const std::vector<std::size_t>& phase_of) {
  std::vector<std::int64_t> bytes;
  std::vector<std::size_t> kept(drafts.size());  // phases that stayed empty are none
  for (std::size_t p = 0; p < drafts.size(); ++p) {
    kept[p] = bytes.size();
    if (drafts[p].bytes > 0) bytes.push_back(drafts[p].bytes);
  }
  std::vector<std::size_t> ascending(bytes.size());
  std::iota(ascending.begin(), ascending.end(), std::size_t{0});
  std::stable_sort(ascending.begin(), ascending.end(),
                   [&](std::size_t a, std::size_t b) { return bytes[a] < bytes[b]; });
  std::vector<std::int32_t> position(bytes.size());
  Phases phases;
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    position[ascending[i]] = static_cast<std::int32_t>(i);
    phases.bytes.push_back(bytes[ascending[i]]);
  }
  // Copies within ranks need rounds to happen in, too.
  if (phases.bytes.empty()) phases.bytes.push_back(0);
  for (const std::size_t p : phase_of) phases.of_group.push_back(position[kept[p]]);
  return phases;
}

}  // namespace

Phases MakePhases(const Deliveries& deliveries, const Routes& routes,
                  const RankResources& resources, double bound_seconds, std::size_t most) {
  most = std::min(most, kMostPhases);
  const std::vector<DeliveryGroup>& groups = deliveries.groups;
  const auto loads = LinkLoads(deliveries, routes, resources);
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return groups[a].bytes > groups[b].bytes; });
  // Largest group first. All go into the first phase, but what is small into the first phase where
  // nobody receives yet what it brings, if that phase stays short.
  std::int64_t left = 0;  // of this group and all smaller ones
  for (const DeliveryGroup& group : groups) left += group.bytes;
  const double small_bytes = kSmallShare * static_cast<double>(left);
  std::vector<Draft> drafts(groups.empty() ? 0 : 1);
  for (Draft& draft : drafts) draft.loads.assign(4 * resources.domain.size(), 0);
  std::vector<std::size_t> phase_of(groups.size(), 0);
  for (const std::size_t g : order) {
    const std::vector<RankIndex> mine = groups[g].Receivers();
    const bool small = static_cast<double>(left) < small_bytes;
    left -= groups[g].bytes;
    std::size_t p = 0;
    while (small && p < most) {
      if (p == drafts.size()) {
        drafts.push_back({{}, std::vector<std::int64_t>(4 * resources.domain.size(), 0), 0});
      }
      const bool brief = p == 0 || BusySeconds(Sum(drafts[p].loads, loads[g]), resources) <=
                                       kPhaseTimeShare * bound_seconds;
      if (brief && Disjoint(drafts[p].receivers, mine)) break;
      ++p;
    }
    if (p == most) p = 0;
    std::vector<RankIndex> joined;
    std::ranges::set_union(drafts[p].receivers, mine, std::back_inserter(joined));
    drafts[p].receivers = std::move(joined);
    drafts[p].loads = Sum(std::move(drafts[p].loads), loads[g]);
    drafts[p].bytes += groups[g].bytes;
    phase_of[g] = p;
  }
  return InAscendingOrder(drafts, phase_of);
}

std::vector<std::uint32_t> RoundShape::Weights() const {
  std::vector<double> parts;
  for (std::int32_t i = 0; i < ramp; ++i) {
    parts.push_back(i == 0 ? ramp_percent / 100.0 : parts.back() * ramp_percent / 100);
  }
  std::ranges::reverse(parts);
  parts.insert(parts.end(), static_cast<std::size_t>(full), 1.0);
  for (std::int32_t i = 0; i < tail; ++i) parts.push_back(parts.back() * taper_percent / 100);
  if (tail > 0) parts.push_back(parts.back());
  const double share = 4294967295.0 / std::accumulate(parts.begin(), parts.end(), 0.0);
  std::vector<std::uint32_t> weights;
  for (const double part : parts) weights.push_back(static_cast<std::uint32_t>(share * part));
  return weights;
}

}  // namespace reshard
