// The earliest of many instants that change all the time: a tournament tree (Knuth, The Art of
// Computer Programming, vol. 3, section 5.4.1). Unlike a heap it keeps no stale entries.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace reshard {

using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

class InstantTree {
 public:
  // `size` entries, all kNever.
  explicit InstantTree(std::size_t size)
      : leaves_(std::bit_ceil(std::max<std::size_t>(size, 1))), earliest_(2 * leaves_, kNever) {}

  Nanoseconds operator[](std::int32_t entry) const {
    return earliest_[leaves_ + static_cast<std::size_t>(entry)];
  }
  Nanoseconds Earliest() const { return earliest_[1]; }

  void Set(std::int32_t entry, Nanoseconds instant) {
    std::size_t node = leaves_ + static_cast<std::size_t>(entry);
    earliest_[node] = instant;
    for (node /= 2; node > 0; node /= 2) {
      const Nanoseconds winner = std::min(earliest_[2 * node], earliest_[2 * node + 1]);
      if (earliest_[node] == winner) return;
      earliest_[node] = winner;
    }
  }

  // The first entry of the earliest instant; there must be one before kNever.
  std::int32_t First() const {
    std::size_t node = 1;
    while (node < leaves_) node = 2 * node + (earliest_[2 * node] == earliest_[node] ? 0 : 1);
    return static_cast<std::int32_t>(node - leaves_);
  }

 private:
  std::size_t leaves_;
  std::vector<Nanoseconds>
      earliest_;  // [1]: of all; children of n: 2n, 2n + 1; leaves from leaves_
};

}  // namespace reshard
