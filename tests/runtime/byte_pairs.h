// Copies spelt out byte by byte: what lowering is held against.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "kernels/copy_table.h"
#include "schedules/demand.h"
#include "schedules/region_table.h"

namespace reshard {

// A byte of a buffer.
struct ByteAddress {
  BaseIndex base = 0;
  std::int64_t offset = 0;
  auto operator<=>(const ByteAddress&) const = default;
};

struct BytePair {
  ByteAddress source;
  ByteAddress destination;
  auto operator<=>(const BytePair&) const = default;
};

// Every byte that `table` copies, by the definition of a strided copy.
std::multiset<BytePair> ExpandCopies(const CopyTable& table);

// Where the bytes of `fragment` lie in the parameter of `region`, in stream order: row-major order
// of the logical tensor, by the definition of a region. Parameter p is base first_base + p.
std::vector<ByteAddress> FragmentBytes(const Fragment& fragment, const Region& region,
                                       std::int64_t element_bytes, BaseIndex first_base);

}  // namespace reshard
