// Pieces: what a destination shard gets from each source shard, each byte from one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/baselines/tensor_placements.h"
#include "compiler/baselines/traffic_builder.h"

namespace reshard {

// What a destination shard gets of one tensor from one source shard.
struct ShardPiece {
  std::size_t source = 0;        // index into PlacedTensors::sources
  std::vector<TensorBox> boxes;  // disjoint, ascending by begin
  bool packs = false;            // not one run of bytes in a buffer of the source shard
  bool unpacks = false;          // nor in one of the destination shard
  std::int64_t Elements() const;
};

inline constexpr RankIndex kNoRank = -1;

// The pieces of `destination`, one of placed.destinations, ascending by source shard. Where several
// source shards have the same bytes, the first gives them; one that rank `own` holds is asked
// before all others.
std::vector<ShardPiece> PiecesOf(const PlacedTensors& placed, const Shard& destination,
                                 RankIndex own = kNoRank);

// `piece` of each of the tensors, one send per tensor, from rank to rank, with the copies it takes.
// A rank that is both copies its bytes.
void AddPiece(const ShardPiece& piece, const PlacedTensors& placed, RankIndex from, RankIndex to,
              PhaseBuilder& phase);

}  // namespace reshard
