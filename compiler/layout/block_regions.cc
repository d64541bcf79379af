// Blocks -> regions: the nest of loops of a piece becomes boxes of its tensor with one stride a
// dim.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "compiler/layout/block.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

using Sizes = boost::container::small_vector<std::int64_t, 4>;

// A loop over one tensor dim, its block step turned into elements of the parameter.
struct Walk {
  std::int32_t tensor_dim = 0;
  std::int64_t tensor_step = 1;
  std::int64_t stride = 0;
  std::int64_t count = 1;
};

// What a piece is made of: a box with strides, repeated by the walks that are no part of it.
struct Boxes {
  Sizes begin;
  Sizes extent;
  Sizes stride;
  std::int64_t offset = 0;
  boost::container::small_vector<Walk, 4> repeats;
};

// Takes the walks of one tensor dim, innermost first. A box is contiguous in its tensor, so the
// walk of tensor step 1 and those that continue it in tensor and parameter alike become the box's
// dim; all others repeat the box.
void AddDim(std::size_t dim, boost::container::small_vector<Walk, 4>& walks, Boxes& boxes) {
  std::sort(walks.begin(), walks.end(), [](const Walk& a, const Walk& b) {
    return a.tensor_step != b.tensor_step ? a.tensor_step < b.tensor_step : a.count < b.count;
  });
  boxes.stride[dim] = walks.empty() ? 0 : walks.front().stride;
  for (const Walk& walk : walks) {
    if (walk.count == 1) continue;
    std::int64_t& extent = boxes.extent[dim];
    if (boxes.repeats.empty() || boxes.repeats.back().tensor_dim != walk.tensor_dim) {
      if (extent == 1 && walk.tensor_step == 1) {
        extent = walk.count;
        boxes.stride[dim] = walk.stride;
        continue;
      }
      if (extent > 1 && walk.tensor_step == extent && walk.stride == extent * boxes.stride[dim]) {
        extent *= walk.count;
        continue;
      }
    }
    boxes.repeats.push_back(walk);
  }
}

// A piece whose loops start at `tensor_origin` and `block_origin`, in a block of `shape`.
template <typename Loops>
Boxes BoxesOf(const Sizes& tensor_origin, const Sizes& block_origin, const Loops& loops,
              const std::vector<std::int64_t>& shape) {
  Sizes strides(shape.size(), 1);
  for (std::size_t dim = shape.size(); dim-- > 1;) strides[dim - 1] = strides[dim] * shape[dim];
  Boxes boxes;
  boxes.begin.assign(tensor_origin.begin(), tensor_origin.end());
  boxes.extent.assign(boxes.begin.size(), 1);
  boxes.stride.assign(boxes.begin.size(), 0);
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    boxes.offset += block_origin[dim] * strides[dim];
  }
  for (std::size_t dim = 0; dim < boxes.begin.size(); ++dim) {
    boost::container::small_vector<Walk, 4> walks;
    for (const auto& loop : loops) {
      if (static_cast<std::size_t>(loop.tensor_dim) != dim) continue;
      walks.push_back({loop.tensor_dim, loop.tensor_step,
                       loop.block_step * strides[static_cast<std::size_t>(loop.block_dim)],
                       loop.count});
    }
    AddDim(dim, walks, boxes);
  }
  return boxes;
}

void AddRepeated(TensorIndex tensor, ParameterIndex parameter, Boxes& boxes, std::size_t repeat,
                 RegionTable& regions) {
  if (repeat == boxes.repeats.size()) {
    regions.Add({tensor,
                 parameter,
                 boxes.offset,
                 {boxes.begin.data(), boxes.begin.size()},
                 {boxes.extent.data(), boxes.extent.size()},
                 {boxes.stride.data(), boxes.stride.size()}});
    return;
  }
  const Walk& walk = boxes.repeats[repeat];
  std::int64_t& begin = boxes.begin[static_cast<std::size_t>(walk.tensor_dim)];
  for (std::int64_t i = 0; i < walk.count; ++i) {
    AddRepeated(tensor, parameter, boxes, repeat + 1, regions);
    begin += walk.tensor_step;
    boxes.offset += walk.stride;
  }
  begin -= walk.count * walk.tensor_step;
  boxes.offset -= walk.count * walk.stride;
}

}  // namespace

std::int64_t Block::RegionCount() const {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  std::int64_t count = 0;
  for (const Piece& piece : pieces_) {
    if (piece.tensor == kZeroTensor) continue;
    const Boxes boxes = BoxesOf(piece.tensor_origin, piece.block_origin, piece.loops, shape_);
    std::int64_t of_piece = 1;
    for (const Walk& walk : boxes.repeats) {
      of_piece = CheckedMultiply(of_piece, walk.count).value_or(kMost);
    }
    count = std::min(kMost, count + std::min(kMost, of_piece));
  }
  return count;
}

void Block::AppendRegions(ParameterIndex parameter, RegionTable& regions) const {
  for (const Piece& piece : pieces_) {
    if (piece.tensor == kZeroTensor) continue;
    Boxes boxes = BoxesOf(piece.tensor_origin, piece.block_origin, piece.loops, shape_);
    AddRepeated(piece.tensor, parameter, boxes, 0, regions);
  }
}

std::int64_t Block::ZeroCount() const {
  return std::ranges::count(pieces_, kZeroTensor, &Piece::tensor);
}

void Block::AppendZeros(ParameterIndex parameter, RegionTable& zeros) const {
  Sizes strides(shape_.size(), 1);
  for (std::size_t dim = shape_.size(); dim-- > 1;) strides[dim - 1] = strides[dim] * shape_[dim];
  for (const Piece& piece : pieces_) {
    if (piece.tensor != kZeroTensor) continue;
    // Which zero goes where does not matter: each loop is a dim of its own.
    Sizes begin;
    Sizes extent;
    Sizes stride;
    for (const Loop& loop : piece.loops) {
      if (loop.count == 1) continue;
      begin.push_back(0);
      extent.push_back(loop.count);
      stride.push_back(loop.block_step * strides[static_cast<std::size_t>(loop.block_dim)]);
    }
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
      offset += piece.block_origin[dim] * strides[dim];
    }
    zeros.Add({kZeroTensor,
               parameter,
               offset,
               {begin.data(), begin.size()},
               {extent.data(), extent.size()},
               {stride.data(), stride.size()}});
  }
}

}  // namespace reshard
