// Boxes of logical tensors, packed: regions (a box and where it lies in a parameter).
//
// A region maps element (i_0, .., i_{n-1}) of the box [begin, begin + extent) of a logical tensor
// to element  offset + sum_k (i_k - begin_k) * stride_k  of a parameter. All are counted in
// elements. The box may be of any number of dims (0 for a scalar) and never empty. A region of
// kZeroTensor is of no tensor: its elements are declared zeros, and its box begins at 0 in every
// dim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reshard {

using TensorIndex = std::int32_t;
using ParameterIndex = std::int32_t;
inline constexpr TensorIndex kZeroTensor = -1;

// A view of one region, valid while its table lives and is not added to.
struct Region {
  TensorIndex tensor = 0;
  ParameterIndex parameter = 0;
  std::int64_t offset = 0;
  std::span<const std::int64_t> begin;
  std::span<const std::int64_t> extent;
  std::span<const std::int64_t> stride;
};

// Regions in the order they were added. A value: copying copies all.
class RegionTable {
 public:
  void Add(const Region& region) {
    rows_.push_back({region.offset, static_cast<std::int64_t>(pool_.size()), region.tensor,
                     region.parameter, static_cast<std::int32_t>(region.begin.size())});
    pool_.insert(pool_.end(), region.begin.begin(), region.begin.end());
    pool_.insert(pool_.end(), region.extent.begin(), region.extent.end());
    pool_.insert(pool_.end(), region.stride.begin(), region.stride.end());
  }
  // Makes room for as many regions of as many dims as `other` has.
  void Reserve(const RegionTable& other) {
    rows_.reserve(other.rows_.size());
    pool_.reserve(other.pool_.size());
  }
  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  bool empty() const { return rows_.empty(); }
  Region operator[](std::int64_t index) const {
    const Row& row = rows_[static_cast<std::size_t>(index)];
    const auto dims = static_cast<std::size_t>(row.dims);
    const std::span<const std::int64_t> pool =
        std::span(pool_).subspan(static_cast<std::size_t>(row.pool), 3 * dims);
    return {row.tensor,
            row.parameter,
            row.offset,
            pool.first(dims),
            pool.subspan(dims, dims),
            pool.subspan(2 * dims, dims)};
  }
  bool operator==(const RegionTable&) const = default;

 private:
  struct Row {
    std::int64_t offset;
    std::int64_t pool;  // first of 3 * dims entries: begin, extent, stride
    TensorIndex tensor;
    ParameterIndex parameter;
    std::int32_t dims;
    bool operator==(const Row&) const = default;
  };
  std::vector<Row> rows_;
  std::vector<std::int64_t> pool_;
};

}  // namespace reshard
