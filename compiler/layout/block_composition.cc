#include "compiler/layout/block_composition.h"

#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

std::size_t Index(int dim) { return static_cast<std::size_t>(dim); }

// The order of dims that brings dim 0 behind `dim` others.
std::vector<int> FirstDimTo(int dim, std::size_t dims) {
  std::vector<int> order(dims);
  std::iota(order.begin(), order.end(), 0);
  for (int k = 0; k < dim; ++k) std::swap(order[Index(k)], order[Index(k) + 1]);
  return order;
}

}  // namespace

Block StackAt(int dim, std::span<const Block> parts) {
  const Block stacked = Block::Stack(parts);
  if (dim == 0) return stacked;
  return stacked.Transpose(FirstDimTo(dim, stacked.shape().size()));
}

Result<Block> Interleave(int dim, std::int64_t groups, std::span<const Block> parts) {
  std::vector<Block> split;
  split.reserve(parts.size());
  for (const Block& part : parts) {
    const std::int64_t size = part.shape()[Index(dim)];
    if (size % groups != 0) {
      return InputError("", "a part of " + std::to_string(size) + " along dim " +
                                std::to_string(dim) + " does not divide into " +
                                std::to_string(groups) + " groups");
    }
    // A part without an entry has no run in any group.
    if (size == 0) continue;
    Result<Block> runs = part.SplitDim(dim, size / groups);
    if (!runs) return runs;
    split.push_back(std::move(*runs));
  }
  if (split.empty()) return parts.front();
  return Block::Concat(dim + 1, split).MergeDims(dim);
}

Result<Block> Take(const Block& block, int dim, std::span<const std::int64_t> indices) {
  std::vector<Block> runs;
  std::int64_t pieces = 0;
  for (std::size_t begin = 0; begin < indices.size();) {
    std::size_t end = begin + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    runs.push_back(block.Slice(dim, indices[begin], indices[end - 1] + 1));
    pieces += runs.back().piece_count();
    if (pieces > Block::kMostPieces) {
      return InputError("", "taken entry by entry it has too many pieces",
                        "take entries in longer runs");
    }
    begin = end;
  }
  if (runs.empty()) return block.Slice(dim, 0, 0);
  return Block::Concat(dim, runs);
}

Result<Block> Repeat(const Block& block, int dim, std::int64_t times) {
  const std::optional<std::int64_t> pieces = CheckedMultiply(block.piece_count(), times);
  if (!pieces || *pieces > Block::kMostPieces || times > Block::kMostPieces) {
    return InputError("", "repeated " + std::to_string(times) + " times it has too many pieces");
  }
  const std::vector<Block> copies(static_cast<std::size_t>(times), block);
  return StackAt(dim + 1, copies).MergeDims(dim);
}

Block ZeroPadTo(const Block& block, int dim, std::int64_t size) {
  std::vector<std::int64_t> shape = block.shape();
  shape[Index(dim)] = size - shape[Index(dim)];
  const std::vector<Block> parts{block, Block::Zeros(std::move(shape))};
  return Block::Concat(dim, parts);
}

}  // namespace reshard
