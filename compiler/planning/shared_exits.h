// Exits that need what they pass on.
//
// A rank that sends another's bytes out of their domain may lack them itself. Then it needs them
// once only: what it has as an exit it keeps, and hands on to whoever else in the domain lacks
// them, and the holder's NVLink carries them once instead of twice.
#pragma once

#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/routes.h"

namespace reshard {

// The same deliveries. Columns whose exit receives them as part of a local group (RoutedColumn::
// local_group) serve that group, too; its own columns are cut by their bytes.
void ShareExits(const Deliveries& deliveries, const RankResources& resources, Routes& routes);

}  // namespace reshard
