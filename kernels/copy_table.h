// What a pack, unpack or move step does, as data: a table of strided copies.
//
// A copy moves runs of contiguous bytes between two buffers, or fills runs of one with zeros.
// Buffers are named by their number among the bases the table is run with (staging, parameters), so
// a table holds no address: it is built once, stays right when buffers move, and the same rows
// serve the host twin and a device kernel.
//
// The copies of one table are unordered: a device runs them at the same time, so no copy of a table
// may read what another one of it writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "foundation/error.h"

namespace reshard {

using BaseIndex = std::int32_t;  // a buffer, among the bases a table is run with

enum class CopyKind : std::int32_t {
  kCopy,
  kZero,  // nothing is read; the source's fields repeat the destination's
};

struct StridedDim {
  std::int64_t count = 0;
  std::int64_t source_stride = 0;       // bytes
  std::int64_t destination_stride = 0;  // bytes
  bool operator==(const StridedDim&) const = default;
};

// For dims d, outermost first, and index i_d in [0, count_d): `run` bytes from
//   source_offset + sum_d i_d * source_stride_d   of the source base to
//   destination_offset + sum_d i_d * destination_stride_d   of the destination base.
struct StridedCopy {
  BaseIndex source_base = 0;
  BaseIndex destination_base = 0;
  std::int64_t source_offset = 0;       // bytes
  std::int64_t destination_offset = 0;  // bytes
  std::int64_t run = 0;                 // bytes
  std::span<const StridedDim> dims;
  CopyKind kind = CopyKind::kCopy;
};

class CopyTable {
 public:
  // A row as it is stored, fit to be copied to a device as it is.
  struct Row {
    std::int64_t source_offset = 0;
    std::int64_t destination_offset = 0;
    std::int64_t run = 0;
    std::int64_t first_dim = 0;  // in dims()
    std::int32_t dim_count = 0;
    BaseIndex source_base = 0;
    BaseIndex destination_base = 0;
    CopyKind kind = CopyKind::kCopy;
    bool operator==(const Row&) const = default;
  };

  // Adds `copy` in its simplest form: dims of one index dropped, dims that continue each other on
  // both ends joined, the innermost joined to the run. A copy of no bytes is not added.
  // Precondition: counts, strides and the run are not negative and their products fit 64 bits.
  void Add(const StridedCopy& copy);

  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  bool empty() const { return rows_.empty(); }
  StridedCopy operator[](std::int64_t index) const;
  std::int64_t bytes() const { return bytes_; }  // that all copies together write

  std::span<const Row> rows() const { return rows_; }
  std::span<const StridedDim> dims() const { return dims_; }

  bool operator==(const CopyTable&) const = default;

 private:
  std::vector<Row> rows_;
  std::vector<StridedDim> dims_;
  std::int64_t bytes_ = 0;
};

// The zero fill of the bytes at `destination_offset` and, as in StridedCopy, by `dims`, whose
// source strides repeat the destination's.
inline StridedCopy ZeroFill(BaseIndex destination_base, std::int64_t destination_offset,
                            std::int64_t run, std::span<const StridedDim> dims) {
  return {destination_base, destination_base, destination_offset, destination_offset, run, dims,
          CopyKind::kZero};
}

// Whether every byte that `table` reads and writes lies in its base; base b has base_bytes[b]
// bytes.
Result<void> CheckBounds(const CopyTable& table, std::span<const std::int64_t> base_bytes);

// The host twin: runs all copies and fills of `table`. A copy onto itself (both ends at one
// address, equal strides) moves nothing. Precondition: CheckBounds() holds for the buffers behind
// `bases`, which overlap at most where source and destination of one copy coincide.
void RunCopies(const CopyTable& table, std::span<std::byte* const> bases);

}  // namespace reshard
