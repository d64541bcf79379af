// The regions an explicit layout gives one by one, checked against tensors and parameters.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "compiler/layout/explicit_words.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"
#include "schedules/job_records.h"

namespace reshard {

// One parameter and its regions (whose own parameter index is 0).
struct ExplicitParameterRegions {
  Parameter parameter;
  RegionTable regions;
  RegionTable zeros;
};

struct ExplicitRegions {
  std::vector<TensorIndex> tensors;  // those that regions hold, ascending
  std::map<std::int32_t, std::vector<ExplicitParameterRegions>>
      of_rank;  // by position in the group

  std::span<const ExplicitParameterRegions> OfRank(std::int32_t rank) const {
    const auto found = of_rank.find(rank);
    if (found == of_rank.end()) return {};
    return found->second;
  }
};

// Errors: an unknown tensor, a box outside it, a box that leaves its parameter, regions of one
// parameter that give it different shapes or dtypes, zeros of a parameter whose dtype nothing says.
// Without strides a box lies row-major in its parameter, which must then have as many dims.
Result<ExplicitRegions> ResolveRegions(const Model& model,
                                       const std::vector<ExplicitRegion>& regions);

}  // namespace reshard
