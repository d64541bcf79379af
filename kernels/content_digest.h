// The content of a fragment as one number that does not depend on where its bytes lie.
//
// The digest of a box is the sum modulo 2^64, over its elements, of
//   Mix64(Mix64(tensor * kGoldenGamma + index) + value)
// with `tensor` the logical tensor's number in the job, `index` the element's row-major index in
// the whole logical tensor and `value` its bytes, little endian, zero-extended. A sum does not know
// an order, so every holder and needer gets the same number whatever its layout, and a device may
// add in any order; the index inside the hash tells swapped elements apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/copy_table.h"

namespace reshard {

struct DigestDim {
  std::int64_t count = 0;
  std::int64_t index_stride = 0;  // elements of the logical tensor
  std::int64_t byte_stride = 0;   // bytes of the buffer
  bool operator==(const DigestDim&) const = default;
};

// A box of one logical tensor as it lies in a buffer. For dims d and i_d in [0, count_d), element
//   first_index + sum_d i_d * index_stride_d   of the tensor is at byte
//   offset + sum_d i_d * byte_stride_d   of the base.
struct DigestBox {
  std::int32_t tensor = 0;
  std::int32_t element_bytes = 1;  // 1..8
  std::int64_t first_index = 0;
  BaseIndex base = 0;
  std::int64_t offset = 0;
  std::span<const DigestDim> dims;
};

class DigestTable {
 public:
  // A box as it is stored, fit to be copied to a device as it is.
  struct Row {
    std::int64_t first_index = 0;
    std::int64_t offset = 0;
    std::int64_t first_dim = 0;  // in dims()
    std::int32_t dim_count = 0;
    std::int32_t tensor = 0;
    std::int32_t element_bytes = 1;
    BaseIndex base = 0;
    bool operator==(const Row&) const = default;
  };

  void Add(const DigestBox& box);
  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  DigestBox operator[](std::int64_t index) const;

  std::span<const Row> rows() const { return rows_; }
  std::span<const DigestDim> dims() const { return dims_; }

 private:
  std::vector<Row> rows_;
  std::vector<DigestDim> dims_;
};

// The host twin: one digest per box, in the order of `table`. Precondition: every element lies in
// its base.
std::vector<std::uint64_t> RunDigests(const DigestTable& table,
                                      std::span<const std::byte* const> bases);

}  // namespace reshard
