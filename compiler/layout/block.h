// The algebra of layouts: what a buffer holds, as an N-D array whose elements are elements of logical
// tensors or padding. Adapters and explicit layouts only build expressions in it.
//
// A block is a shape and a list of pieces; a piece is a box of one tensor laid into the block along
// its axes, possibly transposed and with steps. All operations are values in, value out; all sizes
// are in elements. Operations on pieces cost time proportional to their number, never to elements.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "schedules/job_records.h"
#include "schedules/region_table.h"

namespace reshard {

class Block {
 public:
  // The whole of a logical tensor.
  static Block OfTensor(TensorIndex tensor, std::vector<std::int64_t> shape);
  // Elements nobody declares: never read, never written (pad rows).
  static Block Padding(std::vector<std::int64_t> shape);

  const std::vector<std::int64_t>& shape() const { return shape_; }

  // Elements [start, stop) along `dim`; start == stop is legal and keeps the other dims.
  Block Slice(int dim, std::int64_t start, std::int64_t stop) const;
  // Joined along `dim`; other dims must be equal (precondition; callers report before).
  static Block Concat(int dim, std::span<const Block> parts);
  // A new dim 0, one entry per part.
  static Block Stack(std::span<const Block> parts);
  // Dim k of the result is dim order[k] of this.
  Block Transpose(std::span<const int> order) const;
  // Dim `dim` of size a * inner becomes two dims (a, inner). Each piece must allow it; else an Error.
  Result<Block> SplitDim(int dim, std::int64_t inner) const;
  // Dims `dim` and `dim + 1` become one.
  Result<Block> MergeDims(int dim) const;
  // Padding behind, up to `size` along `dim`.
  Block PadTo(int dim, std::int64_t size) const;

  // The regions of this block as the whole of parameter `parameter`, row-major.
  void AppendRegions(ParameterIndex parameter, RegionTable& regions) const;

 private:
  struct Axis {                 // of one tensor dim of a piece
    std::int64_t begin = 0;     // first element in the tensor
    std::int64_t extent = 1;
    int block_dim = 0;          // the block dim it runs along, and
    std::int64_t step = 1;      // how far one element goes along it
  };
  struct Piece {
    TensorIndex tensor = 0;
    std::vector<Axis> axes;               // one per tensor dim; several may share a block dim
    std::vector<std::int64_t> position;   // of its first element in the block
  };
  std::vector<std::int64_t> shape_;
  std::vector<Piece> pieces_;
};

}  // namespace reshard
