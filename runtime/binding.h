// Named memory for the parameters of a rank, checked against its part of the plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "schedules/rank_part.h"

namespace reshard {

// Memory of the caller, who keeps it alive and in place as long as it is bound.
struct NamedBuffer {
  std::string name;
  std::byte* data = nullptr;  // may be null if bytes == 0
  std::int64_t bytes = 0;
};

// Addresses of the source parameters, then of the destination parameters, in the order of `part`.
// Refused, with the parameter's name: one that is missing, unknown or named twice, one of another
// size, and memory shared by two parameters, unless the job's inPlace pairs the two; then both must
// begin at the same address.
Result<std::vector<std::byte*>> MatchBuffers(const RankPart& part,
                                             std::span<const NamedBuffer> source,
                                             std::span<const NamedBuffer> destination);

}  // namespace reshard
