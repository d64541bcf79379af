// A tensor with one of its dims seen as two.
//
// Where a model keeps two matrices in one tensor column by column (gpt-oss: gate and up of an
// expert alternate along the last dim), half of it is no box: every column would be a region, and a
// fragment, of its own. Seen as [.., columns, 2] it is one. The elements and their row-major order
// are the same, so nobody but regions and fragments notices.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "schedules/job_records.h"
#include "schedules/region_table.h"

namespace reshard {

// Dim `dim` of size s is dims (s / inner, inner); inner >= 2 divides s.
struct TensorView {
  std::int32_t dim = 0;
  std::int64_t inner = 2;

  bool operator==(const TensorView&) const = default;
};

using TensorViews = std::map<TensorIndex, TensorView>;

// `shape` as the view has it; the dim is one of it.
std::vector<std::int64_t> ViewedShape(const TensorView& view,
                                      const std::vector<std::int64_t>& shape);

// Adds `region`, a box of the tensor as listed, as boxes of its view: at most three, since only the
// range along the dim that is seen as two can begin and end inside a stretch of `inner`. `stride *
// inner` fits 64 bits where the region has more than one element along both (it lies in a
// parameter).
void AddViewed(const TensorView& view, const Region& region, RegionTable& regions);

}  // namespace reshard
