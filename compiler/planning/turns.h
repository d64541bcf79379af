// Turns: irregular traffic goes in matchings, one after another.
//
// Where many flows of unequal size share NICs, a NIC that all of the time is needed for is left
// with a flow whose other end is shared, and waits: 5 to 28 % (field notes, section 4). In a turn
// each rank sends to one other at most and receives from one at most, all for equally long, so
// nothing is shared; and turns that together last as long as the fullest NIC always exist
// (Birkhoff, Koenig).
#pragma once

#include <optional>

#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/rounds.h"
#include "compiler/planning/routes.h"

namespace reshard {

struct Turns {
  Routes routes;  // columns cut where their turn ends
  Phases phases;  // one a turn, shortest first
};

// None where it does not apply: bytes are relayed between domains, so that what goes in one turn
// decides about the next; nothing is irregular; or there would be more than `most` turns.
std::optional<Turns> TakeTurns(const Routes& routes, const Deliveries& deliveries,
                               const RankResources& resources, std::size_t most = 64);

}  // namespace reshard
