#include "compiler/layout/block.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

std::size_t Index(int dim) { return static_cast<std::size_t>(dim); }

}  // namespace

Block Block::OfTensor(TensorIndex tensor, std::vector<std::int64_t> shape) {
  Block block;
  block.shape_ = std::move(shape);
  Piece piece;
  piece.tensor = tensor;
  piece.tensor_origin.assign(block.shape_.size(), 0);
  piece.block_origin.assign(block.shape_.size(), 0);
  for (std::size_t dim = 0; dim < block.shape_.size(); ++dim) {
    if (block.shape_[dim] == 0) return block;
    const auto d = static_cast<std::int32_t>(dim);
    piece.loops.push_back({d, d, 1, 1, block.shape_[dim]});
  }
  block.pieces_.push_back(std::move(piece));
  return block;
}

Block Block::Zeros(std::vector<std::int64_t> shape) {
  return OfTensor(kZeroTensor, std::move(shape));
}

bool Block::HoldsElements() const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [](const Piece& piece) { return piece.tensor != kZeroTensor; });
}

Block Block::Padding(std::vector<std::int64_t> shape) {
  Block block;
  block.shape_ = std::move(shape);
  return block;
}

// Moves the first element of `piece` to where `iterations` of one loop lead.
void Block::Advance(Piece& piece, std::size_t loop, std::int64_t iterations) {
  const Loop& l = piece.loops[loop];
  piece.tensor_origin[Index(l.tensor_dim)] += iterations * l.tensor_step;
  piece.block_origin[Index(l.block_dim)] += iterations * l.block_step;
}

// Appends to `kept` what of `piece` has an index in [start, stop) along block dim `dim`. Iterations
// of the loop of largest step that lie inside as a whole stay one piece; those that straddle an end
// are taken apart one by one, which for the nested loops that merging dims makes is at most one per
// end.
void Block::CutPiece(Piece piece, std::int32_t dim, std::int64_t start, std::int64_t stop,
                     std::vector<Piece>& kept) {
  const std::int64_t first = piece.block_origin[Index(dim)];
  std::int64_t span = 0;  // from the first to the last index along `dim`
  std::optional<std::size_t> widest;
  for (std::size_t i = 0; i < piece.loops.size(); ++i) {
    const Loop& loop = piece.loops[i];
    if (loop.block_dim != dim || loop.count == 1) continue;
    span += (loop.count - 1) * loop.block_step;
    if (!widest || loop.block_step > piece.loops[*widest].block_step) widest = i;
  }
  if (first >= stop || first + span < start) return;
  if (first >= start && first + span < stop) {
    kept.push_back(std::move(piece));
    return;
  }
  const Loop loop = piece.loops[*widest];
  const std::int64_t rest = span - (loop.count - 1) * loop.block_step;
  // Iterations [touch_begin, touch_end) reach into the range, [inside_begin, inside_end) lie in it.
  const auto iterations_below = [&](std::int64_t index) {  // how many start below `index`
    return index <= first ? std::int64_t{0}
                          : std::min(loop.count, CeilDivide(index - first, loop.block_step));
  };
  const std::int64_t touch_begin = iterations_below(start - rest);
  const std::int64_t touch_end = iterations_below(stop);
  const std::int64_t inside_begin = iterations_below(start);
  const std::int64_t inside_end = iterations_below(stop - rest);
  const auto take = [&](std::int64_t begin, std::int64_t end) {
    Piece part = piece;
    Advance(part, *widest, begin);
    part.loops[*widest].count = end - begin;
    return part;
  };
  if (inside_begin >= inside_end) {
    for (std::int64_t i = touch_begin; i < touch_end; ++i) {
      CutPiece(take(i, i + 1), dim, start, stop, kept);
    }
    return;
  }
  for (std::int64_t i = touch_begin; i < inside_begin; ++i) {
    CutPiece(take(i, i + 1), dim, start, stop, kept);
  }
  kept.push_back(take(inside_begin, inside_end));
  for (std::int64_t i = inside_end; i < touch_end; ++i) {
    CutPiece(take(i, i + 1), dim, start, stop, kept);
  }
}

Block Block::Slice(int dim, std::int64_t start, std::int64_t stop) const {
  assert(0 <= start && start <= stop && stop <= shape_[Index(dim)]);
  if (start == 0 && stop == shape_[Index(dim)]) return *this;
  Block result;
  result.shape_ = shape_;
  result.shape_[Index(dim)] = stop - start;
  if (start == stop) return result;
  for (const Piece& piece : pieces_) CutPiece(piece, dim, start, stop, result.pieces_);
  for (Piece& piece : result.pieces_) piece.block_origin[Index(dim)] -= start;
  return result;
}

Block Block::Concat(int dim, std::span<const Block> parts) {
  assert(!parts.empty());
  Block result;
  result.shape_ = parts.front().shape_;
  result.shape_[Index(dim)] = 0;
  std::size_t piece_count = 0;
  for (const Block& part : parts) piece_count += part.pieces_.size();
  result.pieces_.reserve(piece_count);
  for (const Block& part : parts) {
    for (const Piece& piece : part.pieces_) {
      result.pieces_.push_back(piece);
      result.pieces_.back().block_origin[Index(dim)] += result.shape_[Index(dim)];
    }
    result.shape_[Index(dim)] += part.shape_[Index(dim)];
    assert([&] {
      std::vector<std::int64_t> expected = part.shape_;
      expected[Index(dim)] = result.shape_[Index(dim)];
      return expected == result.shape_;
    }());
  }
  return result;
}

Block Block::Stack(std::span<const Block> parts) {
  assert(!parts.empty());
  Block result;
  result.shape_.push_back(static_cast<std::int64_t>(parts.size()));
  result.shape_.insert(result.shape_.end(), parts.front().shape_.begin(),
                       parts.front().shape_.end());
  std::size_t piece_count = 0;
  for (const Block& part : parts) piece_count += part.pieces_.size();
  result.pieces_.reserve(piece_count);
  std::int64_t entry = 0;
  for (const Block& part : parts) {
    assert(part.shape_ == parts.front().shape_);
    for (const Piece& piece : part.pieces_) {
      Piece& stacked = result.pieces_.emplace_back(piece);
      stacked.block_origin.insert(stacked.block_origin.begin(), entry);
      for (Loop& loop : stacked.loops) ++loop.block_dim;
    }
    ++entry;
  }
  return result;
}

Block Block::Transpose(std::span<const int> order) const {
  assert(order.size() == shape_.size());
  Block result = *this;
  std::vector<std::int32_t> place_of(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    result.shape_[k] = shape_[Index(order[k])];
    place_of[Index(order[k])] = static_cast<std::int32_t>(k);
  }
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    for (std::size_t k = 0; k < order.size(); ++k) {
      result.pieces_[i].block_origin[k] = pieces_[i].block_origin[Index(order[k])];
    }
    for (Loop& loop : result.pieces_[i].loops) loop.block_dim = place_of[Index(loop.block_dim)];
  }
  return result;
}

// Appends to `split` pieces that together are `piece` with dim `dim` seen as (dim, dim + 1) of
// sizes
// (.., inner). A piece can be one nest of loops only if each loop steps by whole multiples of
// `inner` or all others together stay inside one stretch of `inner`; the loop of largest step is
// cut until that holds. Where whole periods repeat, they become one loop over periods and one
// inside.
void Block::SplitPiece(Piece piece, std::int32_t dim, std::int64_t inner,
                       std::vector<Piece>& split) {
  const auto emit = [&](Piece part) {
    const std::int64_t first = part.block_origin[Index(dim)];
    part.block_origin[Index(dim)] = first / inner;
    part.block_origin.insert(part.block_origin.begin() + dim + 1, first % inner);
    for (Loop& loop : part.loops) {
      if (loop.block_dim > dim) {
        ++loop.block_dim;
      } else if (loop.block_dim == dim) {
        if (loop.block_step % inner == 0) {
          loop.block_step /= inner;
        } else {
          ++loop.block_dim;
        }
      }
    }
    split.push_back(std::move(part));
  };
  while (static_cast<std::int64_t>(split.size()) <= kMostPieces) {
    const std::int64_t phase = piece.block_origin[Index(dim)] % inner;
    std::int64_t span = 0;
    std::optional<std::size_t> widest;
    for (std::size_t i = 0; i < piece.loops.size(); ++i) {
      const Loop& loop = piece.loops[i];
      if (loop.block_dim != dim || loop.count == 1 || loop.block_step % inner == 0) continue;
      span += (loop.count - 1) * loop.block_step;
      if (!widest || loop.block_step > piece.loops[*widest].block_step) widest = i;
    }
    if (phase + span < inner) {
      emit(std::move(piece));
      return;
    }
    const std::size_t cut = *widest;
    const Loop loop = piece.loops[cut];
    const std::int64_t rest = span - (loop.count - 1) * loop.block_step;
    // Iterations that start in this stretch, and those of them that end in it too.
    const std::int64_t starting = std::min(loop.count, CeilDivide(inner - phase, loop.block_step));
    const std::int64_t ending =
        rest >= inner - phase
            ? std::int64_t{0}
            : std::min(loop.count, CeilDivide(inner - phase - rest, loop.block_step));
    std::int64_t done = starting;
    if (starting > 1 && ending == starting && inner % loop.block_step == 0 &&
        starting == inner / loop.block_step) {
      const std::int64_t periods = loop.count / starting;
      Piece part = piece;
      part.loops[cut].count = starting;
      part.loops.push_back({loop.tensor_dim, dim, loop.tensor_step * starting, inner, periods});
      emit(std::move(part));
      done = starting * periods;
    } else {
      if (ending > 0) {
        Piece part = piece;
        part.loops[cut].count = ending;
        emit(std::move(part));
      }
      for (std::int64_t i = ending; i < starting; ++i) {
        Piece part = piece;
        Advance(part, cut, i);
        part.loops[cut].count = 1;
        SplitPiece(std::move(part), dim, inner, split);
      }
    }
    if (done == loop.count) return;
    Advance(piece, cut, done);
    piece.loops[cut].count -= done;
  }
}

Result<Block> Block::SplitDim(int dim, std::int64_t inner) const {
  const std::int64_t size = shape_[Index(dim)];
  if (inner <= 0 || size % inner != 0) {
    return InputError(
        "", "a dim of " + std::to_string(size) + " does not divide by " + std::to_string(inner));
  }
  Block result;
  result.shape_ = shape_;
  result.shape_[Index(dim)] = size / inner;
  result.shape_.insert(result.shape_.begin() + dim + 1, inner);
  result.pieces_.reserve(pieces_.size());
  for (const Piece& piece : pieces_) SplitPiece(piece, dim, inner, result.pieces_);
  if (result.piece_count() > kMostPieces) {
    return InputError("", "split by " + std::to_string(inner) + ", dim " + std::to_string(dim) +
                              " is cut into too many pieces");
  }
  return result;
}

void Block::SwapEnds(Piece& piece) {
  std::swap(piece.tensor_origin, piece.block_origin);
  for (Loop& loop : piece.loops) {
    std::swap(loop.tensor_dim, loop.block_dim);
    std::swap(loop.tensor_step, loop.block_step);
  }
}

// A piece walks tensor and block alike, so a dim of its tensor splits as a dim of the block does.
Result<Block> Block::Viewed(const TensorViews& views) const {
  Block result;
  result.shape_ = shape_;
  result.pieces_.reserve(pieces_.size());
  for (const Piece& piece : pieces_) {
    const auto view = views.find(piece.tensor);
    if (view == views.end()) {
      result.pieces_.push_back(piece);
      continue;
    }
    Piece swapped = piece;
    SwapEnds(swapped);
    const auto first = static_cast<std::ptrdiff_t>(result.pieces_.size());
    SplitPiece(std::move(swapped), view->second.dim, view->second.inner, result.pieces_);
    std::for_each(result.pieces_.begin() + first, result.pieces_.end(), SwapEnds);
    if (result.piece_count() > kMostPieces) {
      return InputError("", "seen by " + std::to_string(view->second.inner) +
                                ", a tensor in it is cut into too many pieces");
    }
  }
  return result;
}

// Makes one loop of two that continue each other in tensor and block, so that splitting a dim and
// merging it again leaves no trace.
void Block::JoinLoops(Piece& piece) {
  const auto continues = [](const Loop& outer, const Loop& inner) {
    return outer.tensor_dim == inner.tensor_dim && outer.block_dim == inner.block_dim &&
           outer.tensor_step == inner.count * inner.tensor_step &&
           outer.block_step == inner.count * inner.block_step;
  };
  for (bool joined = true; joined;) {
    joined = false;
    for (std::size_t i = 0; i < piece.loops.size() && !joined; ++i) {
      for (std::size_t j = 0; j < piece.loops.size() && !joined; ++j) {
        if (i == j || !continues(piece.loops[i], piece.loops[j])) continue;
        piece.loops[j].count *= piece.loops[i].count;
        piece.loops.erase(piece.loops.begin() + static_cast<std::ptrdiff_t>(i));
        joined = true;
      }
    }
  }
}

Result<Block> Block::MergeDims(int dim) const {
  const std::int64_t inner = shape_[Index(dim) + 1];
  const std::optional<std::int64_t> size = CheckedMultiply(shape_[Index(dim)], inner);
  if (!size) {
    return InputError("", "dims of " + std::to_string(shape_[Index(dim)]) + " and " +
                              std::to_string(inner) + " do not fit one dim of 64 bits");
  }
  Block result = *this;
  result.shape_[Index(dim)] = *size;
  result.shape_.erase(result.shape_.begin() + dim + 1);
  for (Piece& piece : result.pieces_) {
    piece.block_origin[Index(dim)] =
        piece.block_origin[Index(dim)] * inner + piece.block_origin[Index(dim) + 1];
    piece.block_origin.erase(piece.block_origin.begin() + dim + 1);
    for (Loop& loop : piece.loops) {
      if (loop.block_dim == dim) loop.block_step *= inner;
      if (loop.block_dim > dim) --loop.block_dim;
    }
    JoinLoops(piece);
  }
  return result;
}

Block Block::PadTo(int dim, std::int64_t size) const {
  assert(size >= shape_[Index(dim)]);
  Block result = *this;
  result.shape_[Index(dim)] = size;
  return result;
}

}  // namespace reshard
