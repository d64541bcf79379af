#include "schedules/address_map.h"

#include <cstddef>

namespace reshard {
namespace {

// Entries come from files, so their strides may be anything: a product that wraps is no error here,
// as the map keeps the stride it came from, which no region inside a parameter has.
std::int64_t WrappingMultiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace

void AddressMap::AddOuter(std::int64_t count, std::int64_t stride) {
  if (count == 1) return;
  if (!dims_.empty() && stride == WrappingMultiply(dims_.back().count, dims_.back().stride)) {
    dims_.back().count = WrappingMultiply(dims_.back().count, count);
    return;
  }
  dims_.push_back({count, stride});
}

void AddressMap::SetEntry(const CopyEntry& entry) {
  offset_ = entry.offset;
  dims_.clear();
  AddOuter(entry.run, 1);
  for (std::size_t d = entry.dims.size(); d-- > 0;) {
    AddOuter(entry.dims[d].count, entry.dims[d].stride);
  }
}

void AddressMap::SetFragment(const Fragment& fragment, const Region& region,
                             std::int64_t element_bytes) {
  offset_ = region.offset;
  dims_.clear();
  AddOuter(element_bytes, 1);
  for (std::size_t k = fragment.extent.size(); k-- > 0;) {
    if (region.extent[k] == 1) continue;  // its stride is never taken and may be anything
    offset_ += (fragment.begin[k] - region.begin[k]) * region.stride[k];
    AddOuter(fragment.extent[k], region.stride[k] * element_bytes);
  }
  offset_ *= element_bytes;
}

}  // namespace reshard
