#include "compiler/planning/delivery_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace reshard {
namespace {

// Parts of one group that its receivers are handed, all together: each is an entry of their slots.
constexpr std::int64_t kMostPartsHanded = std::int64_t{1} << 21;

// A class lies in place on a rank as a whole or not at all: the demand builder splits classes so.
// Any one of its fragments tells. What the destination has at several places is written.
bool LiesInPlace(const JobRecords& job, const std::vector<CopyProgram>& programs, const Rank& rank,
                 ClassIndex demand_class) {
  const auto sources = FindPrograms(programs, rank.source_layout, demand_class);
  const auto destinations = FindPrograms(programs, rank.destination_layout, demand_class);
  if (destinations.size() != 1) return false;
  const CopyProgram& from = sources.front();
  const CopyProgram& to = destinations.front();
  const CopyEntry a = from[0];
  const CopyEntry b = to[0];
  const auto name = [&job](LayoutIndex layout, ParameterIndex parameter) -> const std::string& {
    return job.layouts[static_cast<std::size_t>(layout)]
        .parameters[static_cast<std::size_t>(parameter)]
        .name;
  };
  const InPlacePair pair{name(from.layout, a.parameter), name(to.layout, b.parameter)};
  return std::ranges::find(job.in_place, pair) != job.in_place.end() && a.offset == b.offset &&
         a.run == b.run && std::ranges::equal(a.dims, b.dims);
}

}  // namespace

std::int64_t DeliveryGroup::LeastPartBytes() const {
  std::int64_t receivers = 0;
  for (const GroupDomain& domain : domains) {
    receivers += static_cast<std::int64_t>(domain.receivers.size());
  }
  return bytes /
             std::max<std::int64_t>(1, kMostPartsHanded / std::max<std::int64_t>(1, receivers)) +
         1;
}

std::vector<RankIndex> DeliveryGroup::Receivers() const {
  std::vector<RankIndex> receivers;
  for (const GroupDomain& domain : domains) {
    receivers.insert(receivers.end(), domain.receivers.begin(), domain.receivers.end());
  }
  std::sort(receivers.begin(), receivers.end());
  return receivers;
}

Deliveries FindDeliveries(const JobRecords& job, const Demand& demand,
                          const std::vector<CopyProgram>& programs,
                          const RankResources& resources) {
  Deliveries deliveries;
  std::map<std::pair<bool, std::vector<RankIndex>>, DeliveryGroup> groups;
  const auto add = [&](bool local, const std::map<DomainIndex, std::vector<RankIndex>>& domains,
                       ClassIndex c, std::vector<RankIndex> holders) {
    std::vector<RankIndex> receivers;
    for (const auto& [domain, ranks] : domains) {
      receivers.insert(receivers.end(), ranks.begin(), ranks.end());
    }
    DeliveryGroup& group = groups[{local, std::move(receivers)}];
    if (group.classes.empty()) {
      group.local = local;
      for (const auto& [domain, ranks] : domains) group.domains.push_back({domain, ranks});
    }
    group.bytes += demand.classes[static_cast<std::size_t>(c)].bytes;
    group.classes.push_back({c, std::move(holders)});
  };
  for (std::size_t i = 0; i < demand.classes.size(); ++i) {
    const DemandClass& record = demand.classes[i];
    const auto c = static_cast<ClassIndex>(i);
    const std::span<const RankIndex> holders = demand.Holders(record);
    std::map<DomainIndex, std::vector<RankIndex>> holders_of;
    for (const RankIndex h : holders) {
      holders_of[resources.domain[static_cast<std::size_t>(h)]].push_back(h);
    }
    std::map<DomainIndex, std::vector<RankIndex>> remote;
    std::map<DomainIndex, std::vector<RankIndex>> inside;
    for (const RankIndex n : demand.Needers(record)) {
      if (std::ranges::binary_search(holders, n)) {
        const Rank& rank = job.ranks[static_cast<std::size_t>(n)];
        if (job.in_place.empty() || !LiesInPlace(job, programs, rank, c)) {
          deliveries.local_copies.push_back({n, c});
        }
        continue;
      }
      const DomainIndex domain = resources.domain[static_cast<std::size_t>(n)];
      (holders_of.contains(domain) ? inside : remote)[domain].push_back(n);
    }
    if (!remote.empty()) add(false, remote, c, {holders.begin(), holders.end()});
    for (const auto& [domain, receivers] : inside) {
      add(true, {{domain, receivers}}, c, holders_of[domain]);
    }
  }
  for (auto& [key, group] : groups) deliveries.groups.push_back(std::move(group));
  return deliveries;
}

std::vector<GroupTraffic> FindGroupTraffic(const Deliveries& deliveries, const Demand& demand,
                                           const RankResources& resources) {
  std::vector<GroupTraffic> traffic;
  for (std::size_t g = 0; g < deliveries.groups.size(); ++g) {
    const DeliveryGroup& group = deliveries.groups[g];
    if (group.local) continue;
    std::map<std::vector<DomainIndex>, GroupTraffic> types;
    for (std::size_t i = 0; i < group.classes.size(); ++i) {
      std::set<DomainIndex> holders;
      for (const RankIndex h : group.classes[i].holders) {
        const DomainIndex d = resources.domain[static_cast<std::size_t>(h)];
        if (resources.domains[static_cast<std::size_t>(d)].network_gbps > 0) holders.insert(d);
      }
      GroupTraffic& type = types[{holders.begin(), holders.end()}];
      const auto c = static_cast<std::size_t>(group.classes[i].demand_class);
      type.bytes += demand.classes[c].bytes;
      type.classes.push_back(i);
    }
    for (auto& [holders, type] : types) {
      if (type.bytes == 0) continue;
      type.group = g;
      type.holders = holders;
      traffic.push_back(std::move(type));
    }
  }
  return traffic;
}

}  // namespace reshard
