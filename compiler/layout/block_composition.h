// Operations on blocks that are made of the primitive ones (block.h).
#pragma once

#include <cstdint>
#include <span>

#include "compiler/layout/block.h"
#include "foundation/error.h"

namespace reshard {

// A new dim `dim` (0 .. dims of the parts) with one entry per part; at least one part, all of one
// shape (precondition).
Block StackAt(int dim, std::span<const Block> parts);

// Each part's dim `dim` cut into `groups` equal runs, joined group by group: run 0 of every part,
// then run 1 of every part, and so on. At least one part, the other dims equal, groups >= 1
// (preconditions). An Error if `groups` does not divide the size of a part's dim.
Result<Block> Interleave(int dim, std::int64_t groups, std::span<const Block> parts);

// numpy.take: entry k of the result's dim `dim` is entry indices[k] of the block's. Indices are in
// range (precondition); one may stand several times. An Error if the block would have too many
// pieces.
Result<Block> Take(const Block& block, int dim, std::span<const std::int64_t> indices);

// numpy.repeat: each entry of dim `dim` `times` times in a row; times >= 1 (precondition). An Error
// if the block would have too many pieces or its size does not fit 64 bits.
Result<Block> Repeat(const Block& block, int dim, std::int64_t times);

// Zeros behind, up to `size` along `dim`; `size` is at least the present one (precondition).
Block ZeroPadTo(const Block& block, int dim, std::int64_t size);

}  // namespace reshard
