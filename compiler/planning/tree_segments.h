// What goes by which delivery tree: stretches of classes, cut such that each enters every domain of
// its tree at one rank, and the NICs that take them in are level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "compiler/planning/delivery_trees.h"
#include "compiler/planning/nic_levels.h"

namespace reshard {

// No cut is finer, where the bytes allow.
inline constexpr std::int64_t kLeastCutBytes = std::int64_t{64} << 10;

// A stretch of a class's stream that goes by one tree.
struct TreeSegment {
  ClassIndex demand_class = 0;
  std::size_t position = 0;  // of the class in its group
  std::int64_t begin = 0;
  std::int64_t end = 0;
  const DeliveryTree* tree = nullptr;
  std::vector<RankIndex> heads;  // one per hop of the tree
};

// Result[g]: the segments of group g, in the order of its line. What goes by a tree is dealt out
// over the ranks of a domain in `stripes` turns.
std::vector<std::vector<TreeSegment>> MakeTreeSegments(
    const Deliveries& deliveries, const Demand& demand, const RankResources& resources,
    const RailBundles& bundles, const DeliveryTrees& trees, const NicLevels& levels,
    std::int64_t stripes);

// None where the domain is not one of the group's.
std::set<RankIndex> ReceiversIn(const DeliveryGroup& group, DomainIndex domain);

}  // namespace reshard
