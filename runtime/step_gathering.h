// When the steps of all ranks ran, where each rank knows its own.
#pragma once

#include <cstdint>
#include <vector>

#include "foundation/error.h"
#include "runtime/rank_minimum.h"
#include "schedules/replay_record.h"

namespace reshard {

// Collective: the steps of all ranks on all of them, in the order of their ends, counted from the
// start of the first. `own` is on the rank's clock, on which `zero_ns` is the moment that all ranks
// take for the same; no step began before it.
Result<std::vector<StepTime>> GatherSteps(const std::vector<StepTime>& own, std::int64_t zero_ns,
                                          RankIndex rank, RankIndex rank_count,
                                          const MinimumOverRanks& minimum_over_ranks);

// Steps in the order of their ends, counted from the start of the first.
std::vector<StepTime> FromFirstStart(std::vector<StepTime> steps);

}  // namespace reshard
