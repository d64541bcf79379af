#include "compiler/planning/domain_ways.h"

namespace reshard {

DomainWays::DomainWays(const RailBundles& bundles, std::size_t domain_count, double crossing_cost)
    : bundles_(bundles), domain_count_(domain_count) {
  const auto domains = static_cast<DomainIndex>(domain_count);
  const auto is_door = [&bundles](DomainIndex domain, BundleIndex bundle) {
    return bundles.Egress(domain, bundle) > 0;
  };
  for (DomainIndex u = 0; u < domains; ++u) {
    for (DomainIndex v = 0; v < domains; ++v) {
      std::vector<Option>& options = options_.emplace_back();
      for (BundleIndex out = 0; u != v && out < bundles.count(); ++out) {
        for (BundleIndex in = 0; is_door(u, out) && in < bundles.count(); ++in) {
          if (!is_door(v, in) || !bundles.Meet(out, in)) continue;
          options.push_back({out, in, bundles.Crosses(out, in) ? crossing_cost : 0, 0,
                             bundles.UsesOf(u, out, v, in)});
        }
      }
    }
  }
}

void DomainWays::Price(const std::vector<double>& prices) {
  for (std::vector<Option>& options : options_) {
    for (Option& option : options) {
      option.price = option.cost;
      for (const FabricUse& use : option.uses) {
        option.price += prices[static_cast<std::size_t>(use.resource)] * use.share;
      }
    }
  }
}

void DomainWays::Find(const std::vector<double>& door_costs) {
  ways_.assign(domain_count_ * domain_count_, {});
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const auto from = static_cast<DomainIndex>(i / domain_count_);
    const auto to = static_cast<DomainIndex>(i % domain_count_);
    for (const Option& option : options_[i]) {
      const double cost =
          option.price + door_costs[Door(from, option.out)] + door_costs[Door(to, option.in)];
      if (cost < ways_[i].cost) ways_[i] = {cost, option.out, option.in};
    }
  }
}

}  // namespace reshard
