#include "compiler/planning/door_costs.h"

#include <algorithm>
#include <map>
#include <utility>

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

DoorCosts::DoorCosts(const Deliveries& deliveries, const Demand& demand,
                     const RankResources& resources, const RailBundles& bundles,
                     const DomainWays& ways, double hop_cost)
    : deliveries_(deliveries),
      demand_(demand),
      resources_(resources),
      bundles_(bundles),
      ways_(ways),
      hop_cost_(hop_cost),
      linked_(ways.door_count(), false),
      all_linked_(resources.domains.size(), true) {
  for (std::size_t r = 0; r < resources.domain.size(); ++r) {
    const auto rank = static_cast<RankIndex>(r);
    if (!HasDoor(rank)) continue;
    if (resources.HasNvlink(rank)) {
      linked_[Door(rank)] = true;
    } else {
      all_linked_[At(resources.domain[r])] = false;
    }
  }
}

std::size_t DoorCosts::Door(RankIndex rank) const {
  return ways_.Door(resources_.domain[At(rank)], bundles_.OfRank(rank));
}

// Ascending.
std::vector<std::size_t> DoorCosts::DoorsOf(std::span<const RankIndex> ranks) const {
  std::vector<std::size_t> doors;
  for (const RankIndex r : ranks) {
    if (HasDoor(r)) doors.push_back(Door(r));
  }
  std::ranges::sort(doors);
  doors.erase(std::ranges::unique(doors).begin(), doors.end());
  return doors;
}

// Calls `use` with each domain that has holders, whether any of them has NVLink, and their doors.
template <typename Use>
void DoorCosts::ForDomainsOf(const GroupClass& c, const Use& use) const {
  for (std::size_t begin = 0; begin < c.holders.size();) {
    const DomainIndex domain = resources_.domain[At(c.holders[begin])];
    std::size_t end = begin;
    bool is_linked = false;
    for (; end < c.holders.size() && resources_.domain[At(c.holders[end])] == domain; ++end) {
      is_linked = is_linked || resources_.HasNvlink(c.holders[end]);
    }
    use(domain, is_linked, DoorsOf(std::span(c.holders).subspan(begin, end - begin)));
    begin = end;
  }
}

// What its holders leave by in domains where none of them has NVLink.
std::vector<std::size_t> DoorCosts::StuckDoors(const GroupClass& c) const {
  std::vector<std::size_t> doors;
  ForDomainsOf(c, [&](DomainIndex, bool is_linked, const std::vector<std::size_t>& own) {
    if (!is_linked) doors.insert(doors.end(), own.begin(), own.end());
  });
  return doors;
}

std::vector<GroupTraffic> DoorCosts::Parts(const GroupTraffic& type) const {
  const DeliveryGroup& group = deliveries_.groups[type.group];
  std::map<std::vector<std::size_t>, GroupTraffic> parts;
  for (const std::size_t i : type.classes) {
    const GroupClass& c = group.classes[i];
    GroupTraffic& part = parts[StuckDoors(c)];
    part.classes.push_back(i);
    part.bytes += demand_.classes[At(c.demand_class)].bytes;
  }
  std::vector<GroupTraffic> traffic;
  for (auto& [doors, part] : parts) {
    if (part.bytes == 0) continue;
    part.group = type.group;
    part.holders = type.holders;
    traffic.push_back(std::move(part));
  }
  return traffic;
}

void DoorCosts::CloseOthers(DomainIndex domain, bool is_linked, const std::vector<std::size_t>& own,
                            std::vector<bool>& closed) const {
  if (is_linked && all_linked_[At(domain)]) return;
  for (BundleIndex bundle = 0; bundle < bundles_.count(); ++bundle) {
    const std::size_t door = ways_.Door(domain, bundle);
    const bool is_open = (is_linked && linked_[door]) || std::ranges::binary_search(own, door);
    if (!is_open) closed[door] = true;
  }
}

// Of domains that neither have nor need bytes of it: what has NVLink, and a rank that is alone,
// which passes on what it takes in itself.
std::vector<bool> DoorCosts::ClosedToHelpers() const {
  std::vector<bool> closed = linked_;
  closed.flip();
  for (const DomainResources& domain : resources_.domains) {
    if (domain.ranks.size() == 1 && HasDoor(domain.ranks[0])) closed[Door(domain.ranks[0])] = false;
  }
  return closed;
}

std::vector<double> DoorCosts::Of(const GroupTraffic& type) const {
  const DeliveryGroup& group = deliveries_.groups[type.group];
  std::vector<double> costs(ways_.door_count(), hop_cost_);
  std::vector<bool> closed = ClosedToHelpers();
  const auto open = [&](DomainIndex domain) {
    for (BundleIndex b = 0; b < bundles_.count(); ++b) closed[ways_.Door(domain, b)] = false;
  };
  for (const GroupDomain& domain : group.domains) {
    open(domain.domain);
    const std::vector<std::size_t> own = DoorsOf(domain.receivers);
    for (const std::size_t door : own) costs[door] = 0;
    const bool is_linked = std::ranges::all_of(
        domain.receivers, [this](RankIndex r) { return resources_.HasNvlink(r); });
    CloseOthers(domain.domain, is_linked, own, closed);
  }
  for (const DomainIndex domain : type.holders) open(domain);
  for (const std::size_t i : type.classes) {
    const GroupClass& c = group.classes[i];
    const double share = static_cast<double>(demand_.classes[At(c.demand_class)].bytes) /
                         static_cast<double>(type.bytes);
    ForDomainsOf(c, [&](DomainIndex domain, bool is_linked, const std::vector<std::size_t>& own) {
      for (const std::size_t door : own)
        costs[door] = std::max(0.0, costs[door] - share * hop_cost_);
      CloseOthers(domain, is_linked, own, closed);
    });
  }
  for (std::size_t door = 0; door < costs.size(); ++door) {
    if (closed[door]) costs[door] = kNoWay;
  }
  return costs;
}

}  // namespace reshard
