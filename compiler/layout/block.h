// The algebra of layouts: what a buffer holds, as an N-D array whose elements are elements of
// logical tensors or padding. Adapters and explicit layouts only build expressions in it.
//
// A block is a shape and a list of pieces; a piece is a nest of loops that walks a part of one
// tensor (or of zeros) and a part of the block together. Whatever slicing, joining, stacking,
// transposing, splitting and merging of dims can express is exact. All operations are values in,
// value out; all sizes are in elements. They cost time proportional to pieces, never to elements; a
// piece is cut only where a later operation leaves no single nest of loops.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/layout/tensor_view.h"
#include "foundation/error.h"
#include "schedules/job_records.h"
#include "schedules/region_table.h"

namespace reshard {

class Block {
 public:
  // No real layout has a fraction of these; what an operation would cut further is refused.
  static constexpr std::int64_t kMostPieces = std::int64_t{1} << 22;

  // The whole of a logical tensor.
  static Block OfTensor(TensorIndex tensor, std::vector<std::int64_t> shape);
  // Elements nobody declares: never read, never written (pad rows).
  static Block Padding(std::vector<std::int64_t> shape);

  // Elements that the refit fills with zeros, where the block is of the destination.
  static Block Zeros(std::vector<std::int64_t> shape);

  const std::vector<std::int64_t>& shape() const { return shape_; }
  // Whether any element of the block is an element of a tensor.
  bool HoldsElements() const;
  std::int64_t piece_count() const { return static_cast<std::int64_t>(pieces_.size()); }

  // Elements [start, stop) along `dim`, 0 <= start <= stop <= size (precondition). start == stop is
  // legal and keeps the other dims.
  Block Slice(int dim, std::int64_t start, std::int64_t stop) const;
  // Joined along `dim`; at least one part, and the other dims equal (precondition; callers report
  // before).
  static Block Concat(int dim, std::span<const Block> parts);
  // A new dim 0 with one entry per part; at least one part, all of one shape (precondition).
  static Block Stack(std::span<const Block> parts);
  // Dim k of the result is dim order[k] of this; `order` is a permutation (precondition).
  Block Transpose(std::span<const int> order) const;
  // Dim `dim` becomes two dims (size / inner, inner). An Error if `inner` does not divide its size,
  // or if what lies there is cut into more than kMostPieces.
  Result<Block> SplitDim(int dim, std::int64_t inner) const;
  // Dims `dim` and `dim + 1` become one. An Error if its size does not fit 64 bits.
  Result<Block> MergeDims(int dim) const;
  // The same elements, their tensors seen as `views` say: what regions and fragments count in. The
  // views fit the tensors (precondition). An Error if that cuts the block into more than
  // kMostPieces.
  Result<Block> Viewed(const TensorViews& views) const;
  // Padding behind, up to `size` along `dim`; `size` is at least the present one (precondition).
  Block PadTo(int dim, std::int64_t size) const;

  // The regions of this block as the whole of parameter `parameter`, row-major, in elements, in no
  // particular order. The product of the shape fits 64 bits (precondition). The stride of a dim of
  // extent 1 carries no meaning.
  void AppendRegions(ParameterIndex parameter, RegionTable& regions) const;
  // How many AppendRegions() adds, at most 2^62.
  std::int64_t RegionCount() const;
  // Its zeros likewise, of kZeroTensor; ZeroCount() of them.
  void AppendZeros(ParameterIndex parameter, RegionTable& zeros) const;
  std::int64_t ZeroCount() const;

 private:
  // One loop of a piece's nest: iteration i adds i * tensor_step to the index of tensor dim
  // `tensor_dim` and i * block_step to the index of block dim `block_dim`.
  struct Loop {
    std::int32_t tensor_dim = 0;
    std::int32_t block_dim = 0;
    std::int64_t tensor_step = 1;
    std::int64_t block_step = 1;
    std::int64_t count = 1;
  };
  struct Piece {
    TensorIndex tensor = 0;
    boost::container::small_vector<std::int64_t, 4> tensor_origin;  // of its first element
    boost::container::small_vector<std::int64_t, 4> block_origin;
    boost::container::small_vector<Loop, 4> loops;  // at least one per tensor dim, all counts >= 1
  };

  static void Advance(Piece& piece, std::size_t loop, std::int64_t iterations);
  static void CutPiece(Piece piece, std::int32_t dim, std::int64_t start, std::int64_t stop,
                       std::vector<Piece>& kept);
  static void SplitPiece(Piece piece, std::int32_t dim, std::int64_t inner,
                         std::vector<Piece>& split);
  static void JoinLoops(Piece& piece);
  // Tensor and block change places.
  static void SwapEnds(Piece& piece);

  std::vector<std::int64_t> shape_;
  std::vector<Piece> pieces_;
};

}  // namespace reshard
