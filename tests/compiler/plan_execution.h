// Runs a plan byte by byte, as its records say and by nothing else of the program: what every rank
// would do, in one of the orders that lanes, rounds and waits allow.
#pragma once

#include <cstdint>
#include <string>

#include "schedules/plan.h"

namespace reshard {

// Every byte of a logical tensor is a token of its own; memory that holds none is poison. `seed`
// chooses the order. Empty if every destination byte ends up right and no byte outside the
// destination's regions is touched; else what is wrong first.
std::string ExecutePlan(const Plan& plan, std::uint64_t seed);

}  // namespace reshard
