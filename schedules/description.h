// What a plan says about one rank or one class, as values and as text for people.
//
// All functions take a plan that has passed Verify(). Byte counts are payload: the bytes of
// columns, without the padding between items, once for each place they are written to. A
// simulation-only plan has no slots, columns and rounds to tell of: what its ranks exchange and
// copy is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/plan.h"

namespace reshard {

// What a rank holds on one side.
struct SideDescription {
  std::int32_t group = kNoGroup;  // kNoGroup: the rank is not of this side, all else is 0
  LayoutIndex layout = kNoLayout;
  std::int64_t parameters = 0;  // that have memory
  std::int64_t parameter_bytes = 0;
  std::int64_t regions = 0;
  std::int64_t computed_parameters = 0;  // conversions of the others, without memory
};

struct SlotDescription {
  SlotKind kind = SlotKind::kPack;
  std::int64_t offset = 0;
  std::int64_t capacity = 0;  // bytes of one instance
  std::int32_t depth = 0;
  std::int64_t items = 0;
  RoundRange rounds;  // in which it holds something
};

// All transfers between a rank and one other.
struct PeerDescription {
  RankIndex peer = 0;
  bool is_same_domain = false;  // NVLink carries them, else NICs
  std::int64_t sends = 0;       // transfers
  std::int64_t receives = 0;
  std::int64_t sent_bytes = 0;
  std::int64_t received_bytes = 0;
  RoundRange rounds;
};

struct RankDescription {
  RankIndex rank = 0;
  Rank record;
  SideDescription source;
  SideDescription destination;
  std::int64_t staging_bytes = 0;
  std::int64_t packed_bytes = 0;    // out of its parameters
  std::int64_t unpacked_bytes = 0;  // into its parameters
  std::int64_t moved_bytes = 0;     // from its source to its destination parameters
  std::int64_t zeroed_bytes = 0;    // of its destination parameters, filled with zeros
  std::vector<SlotDescription> slots;
  std::vector<PeerDescription> peers;  // ascending
  std::vector<Wait> waits;
};

RankDescription DescribeRank(const Plan& plan, RankIndex rank);

// A column on its way from one rank to another.
struct HopDescription {
  RankIndex from = 0;
  RankIndex to = 0;
  bool is_same_domain = false;
  RoundIndex first_round = 0;  // of its first chunk
};

struct ColumnDescription {
  ColumnIndex column = 0;
  ByteRange bytes;  // of the class's stream
  std::int64_t chunks = 0;
  std::vector<HopDescription> hops;    // ascending by (first round, from, to)
  std::vector<RankIndex> local_moves;  // ranks that move it themselves, ascending
};

struct ClassDescription {
  ClassIndex demand_class = 0;
  std::int64_t bytes = 0;
  std::int64_t fragments = 0;
  std::vector<RankIndex> holders;
  std::vector<RankIndex> needers;
  std::vector<TensorIndex> tensors;  // that have a fragment in it, ascending
  std::vector<ColumnDescription> columns;
};

ClassDescription DescribeClass(const Plan& plan, ClassIndex demand_class);

// Several lines each, the last one ended. Deterministic.
std::string Text(const RankDescription& description);
// `plan` gives names of tensors and domains of ranks.
std::string Text(const ClassDescription& description, const Plan& plan);

// One line per class: volume, fragments, columns, holders and needers.
std::string ClassTable(const Plan& plan);
// One line per rank: place, sides, bytes sent and received, staging.
std::string RankTable(const Plan& plan);

}  // namespace reshard
