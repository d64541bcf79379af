// Whether regions of one rank write an element of a parameter twice.
#pragma once

#include <cstdint>
#include <optional>

#include "foundation/error.h"
#include "schedules/job_records.h"

namespace reshard {

// Two regions of a layout, by index, that share an element of a parameter. Zeros count as regions
// behind the others.
struct RegionOverlap {
  std::int64_t first = 0;
  std::int64_t second = 0;
};

// One such pair, or none. Precondition: the strides of each region nest (NestedStrides). Time grows
// with the regions (and their logarithm) where they lie in a parameter as blocks do; an Error, its
// place the parameter's name, where they are too irregular to be told apart with bounded effort.
Result<std::optional<RegionOverlap>> FindOverlap(const RankLayout& layout);

// Whether each stride of a dim of more than one element steps over all that dims of smaller strides
// reach, so that no two elements of the region coincide.
bool NestedStrides(const Region& region);

}  // namespace reshard
