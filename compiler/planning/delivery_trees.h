// Which trees over domains bytes take where the fabric limits what passes between domains: the flow
// program of field notes section 4 by domain and rail, in a form that can be carried out.
//
// Per type of traffic k (all network classes of one group with holders in the same domains) of B_k
// bytes, with every tree t that leads from one holder domain to all receiving domains, on given
// rails, over helpers or not:
//   x[k,t] >= 0 bytes go by t,   sum_t x[k,t] = B_k
//   per resource (a domain's NICs on a bundle of rails, each way; what may leave a rail and what
//   may enter it for others; a switch, each way):  sum of x[k,t] times t's use of it <= rate * T
// least T, and then least for all that does not bind, in a few levels: flows that share NICs which
// are full although they need not be wait for each other. Inside a domain NVLink takes bytes from
// any rail to any other. There are far more trees than the solution uses, no more than types and
// resources together: those are added whose cost at the prices of the last solution is below what
// their type is charged (column generation). The least tree of a type is one of two levels, over
// one relay, or an arborescence (Chu-Liu, Edmonds 1967), over a helper or not. Of one holder domain
// and without helpers such trees reach what network coding could (Edmonds' branchings 1972); bytes
// of several holder domains go by trees from each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/rail_bundles.h"
#include "foundation/error.h"
#include "schedules/demand.h"

namespace reshard {

inline constexpr std::int32_t kFromHolders = -1;

// From one domain to another, on rails of these bundles.
struct DomainHop {
  DomainIndex from = 0;
  DomainIndex to = 0;
  BundleIndex out = 0;
  BundleIndex in = 0;
  std::int32_t parent = 0;  // index of the hop that brought the bytes to `from`, or kFromHolders
  bool operator==(const DomainHop&) const = default;
};

struct DeliveryTree {
  DomainIndex source = 0;
  std::vector<DomainHop> hops;  // parents before children; every receiving domain is reached once
  std::int64_t bytes = 0;
};

struct TreeTraffic : GroupTraffic {
  std::vector<DeliveryTree> trees;  // their bytes sum up to `bytes`
};

struct DeliveryTrees {
  double seconds = 0;  // the program's T
  std::vector<TreeTraffic> traffic;
};

// How much there is to look at: types times pairs of domains times pairs of bundles.
double TreeSearchSize(const Deliveries& deliveries, const RankResources& resources,
                      const RailBundles& bundles);

// Fails where no rail leads to a domain that needs bytes.
Result<DeliveryTrees> FindDeliveryTrees(const Deliveries& deliveries, const Demand& demand,
                                        const RankResources& resources, const RailBundles& bundles);

}  // namespace reshard
