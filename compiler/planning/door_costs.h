// What bytes pay to get between where they are in a domain and the NICs of a bundle there, over
// NVLink: a small preference for NICs of those that have or want them. Where no NVLink leads there,
// it is no way at all.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/domain_ways.h"
#include "compiler/planning/rail_bundles.h"
#include "schedules/demand.h"

namespace reshard {

class DoorCosts {
 public:
  // Keeps references to all of them. `hop_cost`: of an NVLink hop.
  DoorCosts(const Deliveries& deliveries, const Demand& demand, const RankResources& resources,
            const RailBundles& bundles, const DomainWays& ways, double hop_cost);

  // `type` in parts whose classes leave by the same NICs where their holders have no NVLink.
  std::vector<GroupTraffic> Parts(const GroupTraffic& type) const;

  // By DomainWays::Door(): nothing where a receiver or, in a domain of holders, every class has a
  // holder; kNoWay where nobody could take the bytes in or send them.
  std::vector<double> Of(const GroupTraffic& type) const;

 private:
  std::size_t Door(RankIndex rank) const;  // that of its NICs, which it must have
  bool HasDoor(RankIndex rank) const { return bundles_.OfRank(rank) != kNoBundle; }
  std::vector<std::size_t> DoorsOf(std::span<const RankIndex> ranks) const;
  template <typename Use>
  void ForDomainsOf(const GroupClass& c, const Use& use) const;
  std::vector<std::size_t> StuckDoors(const GroupClass& c) const;
  std::vector<bool> ClosedToHelpers() const;
  // Closes what bytes at the doors `own` of a domain cannot get to from there: all else without
  // NVLink.
  void CloseOthers(DomainIndex domain, bool is_linked, const std::vector<std::size_t>& own,
                   std::vector<bool>& closed) const;

  const Deliveries& deliveries_;
  const Demand& demand_;
  const RankResources& resources_;
  const RailBundles& bundles_;
  const DomainWays& ways_;
  double hop_cost_;
  std::vector<bool> linked_;      // per door: a rank with NVLink is there
  std::vector<bool> all_linked_;  // per domain: all ranks with NICs have NVLink
};

}  // namespace reshard
