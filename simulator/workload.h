// How many bytes every lane of every rank moves in each round, read off a plan's pattern.
//
// Bytes change at few rounds only (where a column begins, tapers or ends), so each amount is stored
// as segments of equal bytes: size and time are those of the pattern, not of its rounds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "foundation/error.h"
#include "schedules/plan.h"

namespace reshard {

// `bytes` in every round from `first_round` to the first round of the next segment.
struct Segment {
  RoundIndex first_round = 0;
  std::int64_t bytes = 0;
  bool operator==(const Segment&) const = default;
};

// Segments of one amount: ascending, neighbours differ, 0 before the first, and the last one 0.
struct SegmentRange {
  std::int64_t first = 0;
  std::int32_t count = 0;
};

struct Workload {
  std::vector<Segment> segments;
  std::vector<SegmentRange> transfers;  // of Plan::transfers, by exchange round
  // Per rank, bytes copied by its pack steps. Source bytes that a conversion reads beyond those it
  // makes count half: a copy reads a byte and writes one.
  std::vector<SegmentRange> pack;
  // Per rank, bytes copied by its unpack steps and local moves, once for each place they go to. A
  // zero written counts half: a copy reads a byte and writes one, a fill only writes.
  std::vector<SegmentRange> unpack;

  std::span<const Segment> Of(const SegmentRange& range) const {
    return std::span(segments).subspan(static_cast<std::size_t>(range.first),
                                       static_cast<std::size_t>(range.count));
  }
};

// The bytes of one amount over all its rounds; an input error if they exceed 64 bits.
Result<std::int64_t> TotalBytes(std::span<const Segment> segments);

// Fails on a plan whose indices, rounds or weights lie outside what they refer to: simulation-only
// plans and plans by others need not have passed the verifier.
Result<Workload> MakeWorkload(const Plan& plan);

}  // namespace reshard
