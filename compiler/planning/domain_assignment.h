// Which domain sends how much of what, where domains both hold and need, or have unequal NICs: the
// flow linear program LB4 of field notes section 4, in the form two-level trees can carry out.
//
// Per type of traffic k (all network classes of one group with holders in the same domains), with
// n receiving domains, bytes B:
//   x[k,u]  leave holder domain u once and enter a first domain, which passes them on
//   s[k,u]  are sent by holder domain u to all n receiving domains itself
//   f[k,h]  enter receiving domain h first; it sends n - 1 copies
//   z[k,h]  enter helper domain h (neither holder nor receiver) first; it sends n copies
//   sum_u x + s = B,  sum_u x = sum_h f + sum_h z
//   egress of u:  x + n s + (n - 1) f + n z <= E_u T;  ingress of d:  received + z <= I_d T
// least T.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/bounds/bounds.h"
#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/delivery_groups.h"

namespace reshard {

struct DomainShare {
  DomainIndex domain = 0;
  double tree = 0;  // share of the class's bytes that leave `domain` once
  double star = 0;  // share that leave it once per receiving domain
};

struct GroupAssignment {
  std::vector<std::vector<DomainShare>> of_class;  // per class of the group; shares sum to 1
  std::vector<DomainShare> entries;                // where tree bytes enter first; `tree` sums to 1
};

struct DomainAssignment {
  double seconds = 0;                   // the program's T
  std::vector<GroupAssignment> groups;  // per group of Deliveries; empty for local ones
  DomainWeights weights;                // its dual prices, for the bound
};

// None where no domain both holds and receives and the balance is better left to ranks, or where
// the program is too large to be worth it.
std::optional<DomainAssignment> AssignDomains(const Deliveries& deliveries, const Demand& demand,
                                              const RankResources& resources);

}  // namespace reshard
