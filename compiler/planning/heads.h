// Heads: which ranks of a domain take a group's bytes in, and how much each.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/delivery_groups.h"

namespace reshard {

// A head takes in at least this much of a group; below it, more heads only mean more operations.
inline constexpr std::int64_t kMinHeadBytes = std::int64_t{256} << 10;

// No rank: a head hands its bytes to the other receivers itself.
inline constexpr RankIndex kNoDeputy = -1;

// A group's bytes on a line, cut among the heads of one domain: head k has [ends[k - 1], ends[k]).
// A head whose NVLink is slow beside those of its domain hands each byte to one other receiver, its
// deputy, who passes it on to the rest; it appears once per deputy.
struct HeadCut {
  std::vector<RankIndex> heads;
  std::vector<RankIndex> deputies;  // of each head, or kNoDeputy
  std::vector<std::int64_t> ends;
};

// Result[g][d]: of group g in its domain d. Bytes enter over the receivers' NICs such that NICs are
// level (a local group's: over their NVLinks); but a receiver whose NVLink cannot bring what it
// lacks within `bound_seconds` takes in more over its NICs. Where a domain's receivers cannot take
// them in within `bound_seconds`, or have no NIC at work, other ranks of the domain take in the
// excess and pass it on over NVLink.
std::vector<std::vector<HeadCut>> ChooseHeads(const Deliveries& deliveries,
                                              const RankResources& resources, double bound_seconds);

}  // namespace reshard
