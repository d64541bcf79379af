#include "kernels/content_digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/mixing.h"

namespace reshard {
namespace {

static_assert(std::endian::native == std::endian::little, "digests read elements as little endian");

template <std::size_t kBytes>
std::uint64_t DigestRow(std::uint64_t key, const std::byte* data, const DigestDim& dim) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < dim.count; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, data, kBytes);
    sum += Mix64(Mix64(key) + value);
    key += static_cast<std::uint64_t>(dim.index_stride);
    data += dim.byte_stride;
  }
  return sum;
}

std::uint64_t DigestInnermost(std::uint64_t key, const std::byte* data, std::int32_t element_bytes,
                              const DigestDim& dim) {
  switch (element_bytes) {
    case 1:
      return DigestRow<1>(key, data, dim);
    case 2:
      return DigestRow<2>(key, data, dim);
    case 4:
      return DigestRow<4>(key, data, dim);
    case 8:
      return DigestRow<8>(key, data, dim);
    case 3:
      return DigestRow<3>(key, data, dim);
    case 5:
      return DigestRow<5>(key, data, dim);
    case 6:
      return DigestRow<6>(key, data, dim);
    default:
      return DigestRow<7>(key, data, dim);
  }
}

// Recursion over the dims; its depth is the number of dims, the innermost is a loop.
std::uint64_t DigestDims(std::uint64_t key, const std::byte* data, std::int32_t element_bytes,
                         std::span<const DigestDim> dims) {
  if (dims.empty()) return DigestInnermost(key, data, element_bytes, {1, 0, 0});
  if (dims.size() == 1) return DigestInnermost(key, data, element_bytes, dims[0]);
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < dims[0].count; ++i) {
    sum += DigestDims(key + static_cast<std::uint64_t>(i * dims[0].index_stride),
                      data + i * dims[0].byte_stride, element_bytes, dims.subspan(1));
  }
  return sum;
}

}  // namespace

void DigestTable::Add(const DigestBox& box) {
  rows_.push_back({box.first_index, box.offset, static_cast<std::int64_t>(dims_.size()),
                   static_cast<std::int32_t>(box.dims.size()), box.tensor, box.element_bytes,
                   box.base});
  dims_.insert(dims_.end(), box.dims.begin(), box.dims.end());
}

DigestBox DigestTable::operator[](std::int64_t index) const {
  const Row& row = rows_[static_cast<std::size_t>(index)];
  return {row.tensor,
          row.element_bytes,
          row.first_index,
          row.base,
          row.offset,
          std::span(dims_).subspan(static_cast<std::size_t>(row.first_dim),
                                   static_cast<std::size_t>(row.dim_count))};
}

std::vector<std::uint64_t> RunDigests(const DigestTable& table,
                                      std::span<const std::byte* const> bases) {
  std::vector<std::uint64_t> digests;
  digests.reserve(static_cast<std::size_t>(table.size()));
  for (std::int64_t i = 0; i < table.size(); ++i) {
    const DigestBox box = table[i];
    const std::uint64_t key = static_cast<std::uint64_t>(box.tensor) * kGoldenGamma +
                              static_cast<std::uint64_t>(box.first_index);
    // A box without elements may lie in a parameter without memory.
    const bool is_empty = std::any_of(box.dims.begin(), box.dims.end(),
                                      [](const DigestDim& dim) { return dim.count == 0; });
    digests.push_back(is_empty
                          ? 0
                          : DigestDims(key, bases[static_cast<std::size_t>(box.base)] + box.offset,
                                       box.element_bytes, box.dims));
  }
  return digests;
}

}  // namespace reshard
