// Whether the records of a rank's part refer to things that are there.
#pragma once

#include "foundation/error.h"
#include "schedules/rank_part.h"

namespace reshard {

// Indices of columns, profiles, slots, items and peers are in range, slots lie in staging, lags and
// rounds are sane. It says nothing about bytes: that is what lowering finds out. The error names
// the rank; parts of verified plans always pass.
Result<void> CheckReferences(const RankPart& part);

}  // namespace reshard
