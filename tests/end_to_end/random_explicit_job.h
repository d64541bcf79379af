// Random job files with explicit layouts, together with what every rank must then hold.
#pragma once

#include <cstdint>

#include "tests/end_to_end/naive_job.h"

namespace reshard {

// Meshes of up to three axes over all or some ranks of a group, every kind of cut, one to three
// groups a side, fused parameters cut before or after joining, regions with strides and padding;
// sides that are disjoint, overlap or coincide.
NaiveJob MakeRandomExplicitJob(std::uint64_t seed);

}  // namespace reshard
