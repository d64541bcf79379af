// Which byte of a parameter each byte of a fragment's stream is, in one form for equal maps.
//
// A strided copy is a map from stream positions 0, 1, .. to byte addresses: offset plus, per dim,
// index times stride, the last dim running fastest. Two dims of which the outer steps by exactly
// what the inner covers are one. When no such pair is left the form is unique: the innermost dim's
// stride is the first difference of addresses and its count is where the second one appears; the
// rest follows by induction. So two maps are equal exactly when their forms are.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/copy_program.h"
#include "schedules/demand.h"
#include "schedules/region_table.h"

namespace reshard {

class AddressMap {
 public:
  // The map of a program's entry. Precondition: its counts and run are at least 1 and their product
  // fits.
  void SetEntry(const CopyEntry& entry);
  // The map of a fragment inside a region, by the definition of a region.
  void SetFragment(const Fragment& fragment, const Region& region, std::int64_t element_bytes);

  std::int64_t offset() const { return offset_; }
  bool operator==(const AddressMap&) const = default;

 private:
  // Adds a dim outside of those there are.
  void AddOuter(std::int64_t count, std::int64_t stride);

  std::int64_t offset_ = 0;
  std::vector<CopyDim> dims_;  // innermost first, maximally merged
};

}  // namespace reshard
