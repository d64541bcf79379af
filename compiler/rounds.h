// In how many rounds, and how much in each: phases and the shape of their rounds.
//
// Groups that share a receiver would have a head forward to one peer bytes that do not lie
// together; they go into different phases. The phases run one after another, small ones first, so
// that what a small one still has to fan out goes on below the network rounds of the next.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/delivery_groups.h"
#include "compiler/rank_resources.h"
#include "compiler/routes.h"

namespace reshard {

struct Phases {
  std::vector<std::int32_t> of_group;  // per group
  std::vector<std::int64_t> bytes;     // per phase, of its groups; ascending
};

// A phase must fill the NICs by itself: `bound_seconds` of the whole refit is the measure of what a
// small one may take.
Phases MakePhases(const Deliveries& deliveries, const Routes& routes,
                  const RankResources& resources, double bound_seconds);

// `full` rounds of equal size, then `halvings` rounds each half the one before and one more of the
// last size: what the last receipts still cause (relay, fan-out, unpack) is then short.
struct RoundShape {
  std::int32_t full = 1;
  std::int32_t halvings = 0;
  bool operator==(const RoundShape&) const = default;

  std::int32_t rounds() const { return halvings > 0 ? full + halvings + 1 : full; }
  // Share of each round, in 2^-32; sums to at most 2^32.
  std::vector<std::uint32_t> Weights() const;
};

}  // namespace reshard
