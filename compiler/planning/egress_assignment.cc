#include "compiler/planning/egress_assignment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compiler/planning/flow_network.h"

namespace reshard {
namespace {

constexpr double kCapacityPerGBps = 1e3;  // rates to the MB/s

using Kind = std::pair<std::size_t, std::vector<std::int32_t>>;  // group, domains of holders

}  // namespace

DomainAssignment AssignEgress(const Deliveries& deliveries, const Demand& demand,
                              const RankResources& resources) {
  std::vector<std::int64_t> capacities;
  for (const DomainResources& domain : resources.domains) {
    capacities.push_back(std::llround(domain.network_gbps * kCapacityPerGBps));
  }
  std::map<Kind, std::vector<std::size_t>> classes_of;  // positions in the group
  for (std::size_t g = 0; g < deliveries.groups.size(); ++g) {
    const DeliveryGroup& group = deliveries.groups[g];
    for (std::size_t i = 0; !group.local && i < group.classes.size(); ++i) {
      std::set<std::int32_t> domains;
      for (const RankIndex h : group.classes[i].holders) {
        const DomainIndex d = resources.domain[static_cast<std::size_t>(h)];
        if (capacities[static_cast<std::size_t>(d)] > 0) domains.insert(d);
      }
      if (domains.empty()) continue;
      classes_of[{g, {domains.begin(), domains.end()}}].push_back(i);
    }
  }
  std::vector<FlowDemand> demands;
  for (const auto& [kind, classes] : classes_of) {
    FlowDemand& added = demands.emplace_back();
    added.suppliers = kind.second;
    for (const std::size_t i : classes) {
      const auto c =
          static_cast<std::size_t>(deliveries.groups[kind.first].classes[i].demand_class);
      added.bytes += demand.classes[c].bytes;
    }
  }
  const LevelFlow flow = FindLevelFlow(demands, capacities);
  DomainAssignment assignment;
  assignment.seconds = static_cast<double>(flow.level_bytes) /
                       static_cast<double>(flow.level_capacity) * kCapacityPerGBps / kBytesPerGB;
  assignment.groups.resize(deliveries.groups.size());
  for (std::size_t g = 0; g < deliveries.groups.size(); ++g) {
    assignment.groups[g].of_class.resize(deliveries.groups[g].classes.size());
  }
  std::size_t k = 0;
  for (const auto& [kind, classes] : classes_of) {
    std::vector<DomainShare> shares;
    for (std::size_t s = 0; s < kind.second.size() && demands[k].bytes > 0; ++s) {
      shares.push_back(
          {kind.second[s],
           static_cast<double>(flow.bytes[k][s]) / static_cast<double>(demands[k].bytes), 0});
    }
    for (const std::size_t i : classes) assignment.groups[kind.first].of_class[i] = shares;
    ++k;
  }
  return assignment;
}

}  // namespace reshard
