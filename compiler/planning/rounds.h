// In how many rounds, and how much in each: phases and the shape of their rounds.
//
// Groups that share a receiver would have a head forward to one peer bytes that do not lie
// together; they go into different phases. The phases run one after another, small ones first, so
// that what a small one still has to fan out goes on below the network rounds of the next.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/routes.h"

namespace reshard {

struct Phases {
  std::vector<std::int32_t> of_group;  // per group; a column's turn counts from there
  std::vector<std::int64_t> bytes;     // per phase, of its groups; ascending
};

inline std::int32_t PhaseOf(const RoutedColumn& column, const Phases& phases) {
  return phases.of_group[static_cast<std::size_t>(column.group)] + column.turn;
}

inline constexpr std::size_t kMostPhases = 4;
// Of so many phases, which only turns have, the slots of a rank share their memory.
inline constexpr std::size_t kManyPhases = kMostPhases + 1;

// A phase must fill the links by itself: `bound_seconds` of the whole refit is the measure of what
// a small one may take. There are `most` phases at most, or kMostPhases if that is less.
Phases MakePhases(const Deliveries& deliveries, const Routes& routes,
                  const RankResources& resources, double bound_seconds,
                  std::size_t most = kMostPhases);

// `ramp` rounds, each `ramp_percent` of the one after; `full` rounds of equal size; `tail` rounds,
// each `taper_percent` of the one before, and one more of the last size. What happens before the
// first receipts (pack, exit hops) and what the last ones still cause (relay, fan-out, unpack) is
// then short. Halving is shortest where hops inside domains are quick; where a round's fan-out
// takes nearly as long as its receipt, a gentler tail hides more of it.
struct RoundShape {
  std::int32_t full = 1;
  std::int32_t tail = 0;
  std::int32_t taper_percent = 50;
  std::int32_t ramp = 0;
  std::int32_t ramp_percent = 50;
  auto operator<=>(const RoundShape&) const = default;

  std::int32_t rounds() const { return ramp + (tail > 0 ? full + tail + 1 : full); }
  // Share of each round, in 2^-32; sums to at most 2^32.
  std::vector<std::uint32_t> Weights() const;
};

}  // namespace reshard
