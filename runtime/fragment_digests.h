// The content digests of a rank's fragments: equal on every holder and needer, whatever its layout.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/content_digest.h"
#include "schedules/plan.h"

namespace reshard {

// One digest box for each region of the rank that has a fragment. Bases are the parameters of that
// side, in the order of the rank's layout. A fragment may stand in several rows: a rank may hold it
// in two parameters.
struct FragmentDigests {
  DigestTable table;
  std::vector<std::int64_t> fragments;  // of each row, its number in the plan's demand
};

// The fragments that `rank` holds in its source parameters; `plan` has passed Verify(). Where an
// inPlace pair lets the destination overwrite them, they are to be digested before the refit.
FragmentDigests HeldFragments(const Plan& plan, RankIndex rank);

// Those it needs, as they lie in its destination parameters.
FragmentDigests NeededFragments(const Plan& plan, RankIndex rank);

}  // namespace reshard
