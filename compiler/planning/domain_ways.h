// The cheapest way from every domain to every other at given prices of what it takes of the fabric.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "compiler/planning/rail_bundles.h"

namespace reshard {

inline constexpr double kNoWay = std::numeric_limits<double>::infinity();

struct DomainWay {
  double cost = kNoWay;
  BundleIndex out = 0;
  BundleIndex in = 0;
};

class DomainWays {
 public:
  // `crossing_cost`: preference for ways that stay on their rails.
  DomainWays(const RailBundles& bundles, std::size_t domain_count, double crossing_cost);

  // Prices by resource of the bundles.
  void Price(const std::vector<double>& prices);
  // At these prices and with what it costs to be at each door, on either end.
  void Find(const std::vector<double>& door_costs);

  // A domain's NICs on a bundle, as an index.
  std::size_t Door(DomainIndex domain, BundleIndex bundle) const {
    return static_cast<std::size_t>(domain) * static_cast<std::size_t>(bundles_.count()) +
           static_cast<std::size_t>(bundle);
  }
  std::size_t door_count() const {
    return domain_count_ * static_cast<std::size_t>(bundles_.count());
  }
  const DomainWay& From(DomainIndex from, DomainIndex to) const {
    return ways_[static_cast<std::size_t>(from) * domain_count_ + static_cast<std::size_t>(to)];
  }

 private:
  struct Option {
    BundleIndex out = 0;
    BundleIndex in = 0;
    double cost = 0;   // a preference
    double price = 0;  // with the prices of what it takes
    std::vector<FabricUse> uses;
  };

  const RailBundles& bundles_;
  std::size_t domain_count_;
  std::vector<std::vector<Option>> options_;  // per pair of domains
  std::vector<DomainWay> ways_;               // per pair of domains
};

}  // namespace reshard
