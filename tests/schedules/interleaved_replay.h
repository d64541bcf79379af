// An oracle for the verifier: replays a plan byte by byte, round by round, in a random order that
// respects lanes and waits and nothing else, and compares every byte of every destination parameter
// with what its regions say. Slow, simple, and sharing no code with the verifier.
#pragma once

#include <cstdint>
#include <string>

#include "schedules/plan.h"

namespace reshard {

// What went wrong in the order that `seed` gives: a wrong byte, a write outside, a deadlock; empty
// if nothing did. The indices of `plan` must fit.
std::string ReplayInterleaved(const Plan& plan, std::uint32_t seed);

}  // namespace reshard
