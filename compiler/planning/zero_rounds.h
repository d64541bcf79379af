// When each rank writes the zeros that its destination layout declares.
#pragma once

#include "schedules/plan.h"

namespace reshard {

// Sets RankSchedule::zero_round of every rank of `plan`, whose schedule, demand and programs are
// there already. Zeros are written in round 0. Where zeros lie in memory that a source parameter
// shares, they are written after all is read: in a round behind all others, which the plan gains,
// and after that round's pack step.
void PlaceZeros(Plan& plan);

}  // namespace reshard
