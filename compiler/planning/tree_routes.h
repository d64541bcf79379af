// Routes from delivery trees: which rank of each domain takes a tree's bytes in, and which sends
// them on, such that the NICs of a domain on equal rails are level.
//
// What is sent to a rank leaves over the rails that rank has (or over those the tree names, where
// it crosses): from a holder or from where it came in if that lies on them, else after an NVLink
// hop to a rank that does.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/planning/delivery_trees.h"
#include "compiler/planning/routes.h"

namespace reshard {

// `local` are the routes of groups inside a domain; those of all others come from `trees`.
// `bound_seconds`: NICs that are busy for less than most of it need not be level. What goes by a
// tree is dealt out over the ranks of a domain in `stripes` turns, so that each hears from more
// others at once.
Routes MakeTreeRoutes(const Deliveries& deliveries, const Demand& demand,
                      const RankResources& resources, const RailBundles& bundles,
                      const DeliveryTrees& trees, double bound_seconds, const Routes& local,
                      std::int64_t stripes = 1);

}  // namespace reshard
