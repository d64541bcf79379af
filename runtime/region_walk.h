// The elements of a region (schedules/region_table.h), in the logical tensor and in the parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "schedules/region_table.h"

namespace reshard {

// Calls `visit(index, position, count)` for runs of elements that follow each other in a tensor of
// `shape`, row-major, and in the parameter: the first is element `index` there and `position` here.
// Innermost dim first. Ends early, and returns false, once a call does.
template <typename Visit>
class RegionWalk {
 public:
  RegionWalk(const Region& region, std::span<const std::int64_t> shape, Visit visit)
      : region_(region),
        index_strides_(shape.size(), 1),
        dims_(shape.size()),
        visit_(std::move(visit)) {
    for (std::size_t d = shape.size(); d-- > 1;) {
      index_strides_[d - 1] = index_strides_[d] * shape[d];
    }
    // The last dim is one run where its elements follow each other in the parameter, too.
    if (dims_ > 0 && region.stride[dims_ - 1] == 1) run_ = region.extent[--dims_];
  }

  bool Run() {
    std::int64_t index = 0;
    for (std::size_t d = 0; d < index_strides_.size(); ++d) {
      index += region_.begin[d] * index_strides_[d];
    }
    return WalkDim(0, index, region_.offset);
  }

 private:
  bool WalkDim(std::size_t dim, std::int64_t index, std::int64_t position) {
    if (dim == dims_) return visit_(index, position, run_);
    for (std::int64_t i = 0; i < region_.extent[dim]; ++i) {
      const bool goes_on =
          dim + 1 == dims_ ? visit_(index, position, run_) : WalkDim(dim + 1, index, position);
      if (!goes_on) return false;
      index += index_strides_[dim];
      position += region_.stride[dim];
    }
    return true;
  }

  Region region_;
  std::vector<std::int64_t> index_strides_;  // row-major, of the logical tensor
  std::size_t dims_ = 0;                     // outside of a run
  std::int64_t run_ = 1;
  Visit visit_;
};

// The same for declared zeros, which are elements of no tensor: `visit(position, count)`.
template <typename Visit>
bool WalkZeros(const Region& zeros, Visit visit) {
  return RegionWalk(zeros, zeros.extent,
                    [&visit](std::int64_t, std::int64_t position, std::int64_t count) {
                      return visit(position, count);
                    })
      .Run();
}

}  // namespace reshard
