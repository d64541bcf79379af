// The machine with its exceptions left out: what plans are made for that know of no odd NIC.
//
// A plan gains from what is regular. Where one NIC is faster than those beside it, or a spine is
// narrower than all NICs together, it may be best not to look: nothing may depend on it. Where one
// is slower, others relieve it of what it cannot take (compiler/planning/heads.h), and all the rest
// stays as it is.
#pragma once

#include <optional>

#include "compiler/bounds/rank_resources.h"
#include "topology/cluster.h"

namespace reshard {

// The same resources, but bytes are dealt out (RankResources::dealt_gbps) as if every NIC at work
// had the rate that most NICs of its domain have, or if no rate is that of most, their mean; and as
// if rails met for nothing where they meet at all. None if that is the machine as it is.
std::optional<RankResources> WithAlikeNics(const RankResources& resources, RailCrossing crossing);

}  // namespace reshard
