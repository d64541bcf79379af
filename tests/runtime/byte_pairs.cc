#include "tests/runtime/byte_pairs.h"

#include <cstddef>

namespace reshard {
namespace {

// Counts `index` up, the last dim fastest; false after the last index.
bool CountUp(std::vector<std::int64_t>& index, const std::vector<std::int64_t>& counts) {
  for (std::size_t d = index.size(); d-- > 0;) {
    if (++index[d] < counts[d]) return true;
    index[d] = 0;
  }
  return false;
}

}  // namespace

std::multiset<BytePair> ExpandCopies(const CopyTable& table) {
  std::multiset<BytePair> pairs;
  for (std::int64_t i = 0; i < table.size(); ++i) {
    const StridedCopy copy = table[i];
    std::vector<std::int64_t> counts;
    for (const StridedDim& dim : copy.dims) counts.push_back(dim.count);
    std::vector<std::int64_t> index(counts.size(), 0);
    do {
      BytePair pair = {{copy.source_base, copy.source_offset},
                       {copy.destination_base, copy.destination_offset}};
      for (std::size_t d = 0; d < index.size(); ++d) {
        pair.source.offset += index[d] * copy.dims[d].source_stride;
        pair.destination.offset += index[d] * copy.dims[d].destination_stride;
      }
      for (std::int64_t b = 0; b < copy.run; ++b) {
        pairs.insert(pair);
        ++pair.source.offset;
        ++pair.destination.offset;
      }
    } while (CountUp(index, counts));
  }
  return pairs;
}

std::vector<ByteAddress> FragmentBytes(const Fragment& fragment, const Region& region,
                                       std::int64_t element_bytes, BaseIndex first_base) {
  std::vector<ByteAddress> addresses;
  const std::vector<std::int64_t> counts(fragment.extent.begin(), fragment.extent.end());
  std::vector<std::int64_t> index(counts.size(), 0);
  do {
    std::int64_t element = region.offset;
    for (std::size_t d = 0; d < index.size(); ++d) {
      element += (fragment.begin[d] + index[d] - region.begin[d]) * region.stride[d];
    }
    for (std::int64_t b = 0; b < element_bytes; ++b) {
      addresses.push_back({first_base + region.parameter, element * element_bytes + b});
    }
  } while (CountUp(index, counts));
  return addresses;
}

}  // namespace reshard
