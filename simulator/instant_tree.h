// The earliest of many instants that change all the time: a tournament tree (Knuth, The Art of
// Computer Programming, vol. 3, section 5.4.1). Unlike a heap it keeps no stale entries. Eight
// entries play in one match, as many as a line of the cache holds.
#pragma once

#include <algorithm>
#include <array>
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
  explicit InstantTree(std::size_t size) {
    for (std::size_t entries = size; levels_.empty() || levels_.back().size() > 1;) {
      entries = std::max<std::size_t>((entries + kPlayers - 1) / kPlayers, 1);
      levels_.emplace_back(entries);
    }
  }

  Nanoseconds operator[](std::int32_t entry) const {
    const auto index = static_cast<std::size_t>(entry);
    return levels_.front()[index / kPlayers].instants[index % kPlayers];
  }
  // Asks for the memory that Set() will want first.
  void Fetch(std::int32_t entry) const {
    __builtin_prefetch(&levels_.front()[static_cast<std::size_t>(entry) / kPlayers]);
  }
  Nanoseconds Earliest() const { return levels_.back().front().Winner(); }

  void Set(std::int32_t entry, Nanoseconds instant) {
    auto index = static_cast<std::size_t>(entry);
    for (std::vector<Match>& level : levels_) {
      Match& match = level[index / kPlayers];
      Nanoseconds& player = match.instants[index % kPlayers];
      if (player == instant) return;
      const Nanoseconds before = match.Winner();
      player = instant;
      instant = match.Winner();
      if (instant == before) return;
      index /= kPlayers;
    }
  }

  // The first entry of the earliest instant; there must be one before kNever.
  std::int32_t First() const {
    std::size_t index = 0;
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      const Match& match = (*level)[index];
      const auto first = std::ranges::find(match.instants, match.Winner());
      index = kPlayers * index + static_cast<std::size_t>(first - match.instants.begin());
    }
    return static_cast<std::int32_t>(index);
  }

 private:
  static constexpr std::size_t kPlayers = 8;
  struct alignas(64) Match {
    Match() { instants.fill(kNever); }
    Nanoseconds Winner() const { return *std::ranges::min_element(instants); }
    std::array<Nanoseconds, kPlayers> instants;
  };
  std::vector<std::vector<Match>> levels_;  // entries first; then the winners of each level below
};

}  // namespace reshard
