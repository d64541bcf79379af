#include "compiler/layout/block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace reshard {
namespace {

using Shape = std::vector<std::int64_t>;

std::int64_t Product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// The oracle: every element of the block written out as (tensor, row-major index in the tensor),
// padding as (-1, -1).
using Element = std::pair<std::int64_t, std::int64_t>;
constexpr Element kPadding{-1, -1};

struct Elements {
  Shape shape;
  std::vector<Element> values;
};

// Calls `visit` with every index of `shape`, row-major.
void ForEachIndex(const Shape& shape, const std::function<void(const Shape&)>& visit) {
  Shape index(shape.size(), 0);
  const std::int64_t total = Product(shape);
  for (std::int64_t n = 0; n < total; ++n) {
    visit(index);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

std::int64_t Flat(const Shape& shape, const Shape& index) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + index[d];
  return flat;
}

Elements ElementsOfTensor(TensorIndex tensor, const Shape& shape) {
  Elements elements{shape, {}};
  for (std::int64_t i = 0; i < Product(shape); ++i) elements.values.emplace_back(tensor, i);
  return elements;
}

Elements SliceElements(const Elements& from, int dim, std::int64_t start, std::int64_t stop) {
  Elements result{from.shape, {}};
  result.shape[static_cast<std::size_t>(dim)] = stop - start;
  ForEachIndex(result.shape, [&](Shape index) {
    index[static_cast<std::size_t>(dim)] += start;
    result.values.push_back(from.values[static_cast<std::size_t>(Flat(from.shape, index))]);
  });
  return result;
}

Elements ConcatElements(int dim, const std::vector<Elements>& parts) {
  const auto d = static_cast<std::size_t>(dim);
  Elements result{parts[0].shape, {}};
  result.shape[d] = 0;
  for (const Elements& part : parts) result.shape[d] += part.shape[d];
  ForEachIndex(result.shape, [&](Shape index) {
    std::size_t part = 0;
    while (index[d] >= parts[part].shape[d]) index[d] -= parts[part++].shape[d];
    result.values.push_back(
        parts[part].values[static_cast<std::size_t>(Flat(parts[part].shape, index))]);
  });
  return result;
}

Elements TransposeElements(const Elements& from, const std::vector<int>& order) {
  Elements result{Shape(order.size()), {}};
  for (std::size_t k = 0; k < order.size(); ++k) {
    result.shape[k] = from.shape[static_cast<std::size_t>(order[k])];
  }
  ForEachIndex(result.shape, [&](const Shape& index) {
    Shape origin(index.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
      origin[static_cast<std::size_t>(order[k])] = index[k];
    }
    result.values.push_back(from.values[static_cast<std::size_t>(Flat(from.shape, origin))]);
  });
  return result;
}

Elements PadElements(const Elements& from, int dim, std::int64_t size) {
  Elements padding{from.shape, {}};
  padding.shape[static_cast<std::size_t>(dim)] = size - from.shape[static_cast<std::size_t>(dim)];
  padding.values.assign(static_cast<std::size_t>(Product(padding.shape)), kPadding);
  return ConcatElements(dim, {from, padding});
}

// What the regions of a block say each element of the parameter is; fails where two say it.
std::vector<Element> ElementsOfRegions(const Block& block,
                                       const std::map<TensorIndex, Shape>& shapes) {
  RegionTable regions;
  block.AppendRegions(7, regions);
  std::vector<Element> values(static_cast<std::size_t>(Product(block.shape())), kPadding);
  for (std::int64_t r = 0; r < regions.size(); ++r) {
    const Region region = regions[r];
    EXPECT_EQ(region.parameter, 7);
    const Shape extent(region.extent.begin(), region.extent.end());
    EXPECT_GT(Product(extent), 0) << "a region is never empty";
    ForEachIndex(extent, [&](const Shape& index) {
      Shape tensor_index(index.size());
      std::int64_t at = region.offset;
      for (std::size_t d = 0; d < index.size(); ++d) {
        tensor_index[d] = region.begin[d] + index[d];
        at += index[d] * region.stride[d];
      }
      ASSERT_GE(at, 0);
      ASSERT_LT(at, static_cast<std::int64_t>(values.size()));
      EXPECT_EQ(values[static_cast<std::size_t>(at)], kPadding) << "written twice";
      values[static_cast<std::size_t>(at)] = {region.tensor,
                                              Flat(shapes.at(region.tensor), tensor_index)};
    });
  }
  return values;
}

std::int64_t RegionCount(const Block& block) {
  RegionTable regions;
  block.AppendRegions(0, regions);
  return regions.size();
}

TEST(BlockTest, WholeTensorIsOneRowMajorRegion) {
  RegionTable regions;
  Block::OfTensor(3, {4, 5, 6}).AppendRegions(2, regions);
  ASSERT_EQ(regions.size(), 1);
  const Region region = regions[0];
  EXPECT_EQ(region.tensor, 3);
  EXPECT_EQ(region.parameter, 2);
  EXPECT_EQ(region.offset, 0);
  EXPECT_EQ(Shape(region.begin.begin(), region.begin.end()), (Shape{0, 0, 0}));
  EXPECT_EQ(Shape(region.extent.begin(), region.extent.end()), (Shape{4, 5, 6}));
  EXPECT_EQ(Shape(region.stride.begin(), region.stride.end()), (Shape{30, 6, 1}));
}

TEST(BlockTest, ScalarIsOneRegionWithoutDims) {
  RegionTable regions;
  Block::OfTensor(0, {}).AppendRegions(0, regions);
  ASSERT_EQ(regions.size(), 1);
  EXPECT_TRUE(regions[0].begin.empty());
  EXPECT_EQ(regions[0].offset, 0);
}

TEST(BlockTest, TensorWithoutElementsHasNoRegion) {
  const Block block = Block::OfTensor(0, {4, 0});
  EXPECT_FALSE(block.HoldsElements());
  EXPECT_EQ(RegionCount(block), 0);
  EXPECT_EQ(block.Slice(0, 2, 2).shape(), (Shape{0, 0}));
}

TEST(BlockTest, EmptySliceKeepsTheOtherDims) {
  const Block block = Block::OfTensor(0, {4, 6}).Slice(0, 3, 3);
  EXPECT_EQ(block.shape(), (Shape{0, 6}));
  EXPECT_EQ(RegionCount(block), 0);
}

// Megatron stores q [4 * 2, 3], k and v [2 * 2, 3] (4 query heads, 2 KV heads, head dim 2) per KV
// group: q0 q1 k0 v0 | q2 q3 k1 v1, two rows each. Cut by raw rows over 4 ranks of 4 rows, rank 1
// has rows 4..7: k0 v0.  Rank 2 has rows 8..11: q2 q3.
TEST(BlockTest, QueryKeyValueRowsPerGroup) {
  const Block q = *Block::OfTensor(0, {8, 3}).SplitDim(0, 4);
  const Block k = *Block::OfTensor(1, {4, 3}).SplitDim(0, 2);
  const Block v = *Block::OfTensor(2, {4, 3}).SplitDim(0, 2);
  const Block fused = *Block::Concat(1, std::vector{q, k, v}).MergeDims(0);
  ASSERT_EQ(fused.shape(), (Shape{16, 3}));

  RegionTable rank1;
  fused.Slice(0, 4, 8).AppendRegions(0, rank1);
  ASSERT_EQ(rank1.size(), 2);
  EXPECT_EQ(rank1[0].tensor, 1);
  EXPECT_EQ(rank1[0].begin[0], 0);
  EXPECT_EQ(rank1[0].extent[0], 2);
  EXPECT_EQ(rank1[0].offset, 0);
  EXPECT_EQ(rank1[1].tensor, 2);
  EXPECT_EQ(rank1[1].offset, 2 * 3);

  RegionTable rank2;
  fused.Slice(0, 8, 12).AppendRegions(0, rank2);
  ASSERT_EQ(rank2.size(), 1);  // q rows 4..7 follow each other in tensor and parameter
  EXPECT_EQ(rank2[0].tensor, 0);
  EXPECT_EQ(rank2[0].begin[0], 4);
  EXPECT_EQ(rank2[0].extent[0], 4);
}

// Gate and up [3, 2] interleaved row by row: gate row i at row 2 i, so one region of stride 4 each.
TEST(BlockTest, InterleavedRowsAreOneStridedRegion) {
  const Block stacked =
      Block::Stack(std::vector{Block::OfTensor(0, {3, 2}), Block::OfTensor(1, {3, 2})});
  const Block rows = *stacked.Transpose(std::vector{1, 0, 2}).MergeDims(0);
  ASSERT_EQ(rows.shape(), (Shape{6, 2}));
  RegionTable regions;
  rows.AppendRegions(0, regions);
  ASSERT_EQ(regions.size(), 2);
  EXPECT_EQ(regions[0].offset, 0);
  EXPECT_EQ(Shape(regions[0].stride.begin(), regions[0].stride.end()), (Shape{4, 1}));
  EXPECT_EQ(regions[1].offset, 2);
  EXPECT_EQ(Shape(regions[1].stride.begin(), regions[1].stride.end()), (Shape{4, 1}));
}

TEST(BlockTest, SplittingAndMergingLeavesNoTrace) {
  const Block block = *(*Block::OfTensor(0, {4096, 8}).SplitDim(0, 128)).MergeDims(0);
  EXPECT_EQ(block.shape(), (Shape{4096, 8}));
  EXPECT_EQ(RegionCount(block), 1);
}

TEST(BlockTest, SplitThatDoesNotDivideIsAnError) {
  const auto split = Block::OfTensor(0, {10, 2}).SplitDim(0, 4);
  ASSERT_FALSE(split.has_value());
  EXPECT_EQ(split.error().reason, "a dim of 10 does not divide by 4");
}

TEST(BlockTest, MergeThatOverflowsIsAnError) {
  const Block block = Block::Padding({std::int64_t{1} << 40, std::int64_t{1} << 40});
  EXPECT_FALSE(block.MergeDims(0).has_value());
}

// A block and its oracle, changed together.
struct Pair {
  Block block;
  Elements elements;
};

class RandomBlocks {
 public:
  explicit RandomBlocks(std::uint64_t seed) : random_(seed) {}

  Pair NewTensor(const Shape& shape) {
    const auto tensor = static_cast<TensorIndex>(shapes_.size());
    shapes_[tensor] = shape;
    return {Block::OfTensor(tensor, shape), ElementsOfTensor(tensor, shape)};
  }

  Shape RandomShape() {
    Shape shape(static_cast<std::size_t>(Pick(0, 4)));
    for (std::int64_t& size : shape) size = Pick(0, 20) == 0 ? 0 : Pick(1, 6);
    return shape;
  }

  // One random operation.
  void Change(Pair& pair) {
    const Shape shape = pair.elements.shape;
    const auto dims = static_cast<std::int64_t>(shape.size());
    if (dims == 0 || (dims < 5 && Pick(0, 6) == 0)) return Stack(pair);
    const int dim = static_cast<int>(Pick(0, dims - 1));
    const std::int64_t size = shape[static_cast<std::size_t>(dim)];
    switch (Pick(0, 7)) {
      case 0:
      case 1:
        return Slice(pair, dim, size);
      case 2:
        return Concat(pair, dim);
      case 3:
        return Transpose(pair);
      case 4:
      case 5:
        return Split(pair, dim, size);
      case 6:
        return Merge(pair);
      default:
        pair.block = pair.block.PadTo(dim, size + 2);
        pair.elements = PadElements(pair.elements, dim, size + 2);
        Note("pad " + std::to_string(dim));
    }
  }

  // Views of about half of the tensors that have an even dim or one that divides by 3.
  TensorViews RandomViews() {
    TensorViews views;
    for (const auto& [tensor, shape] : shapes_) {
      for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        const std::int64_t inner = Pick(2, 3);
        if (shape[dim] % inner != 0 || Pick(0, 1) == 0) continue;
        views[tensor] = {static_cast<std::int32_t>(dim), inner};
      }
    }
    return views;
  }

  // What is seen by twos or threes holds the same elements, since their row-major order is the
  // same.
  void ExpectEqualViewed(const Pair& pair) {
    const TensorViews views = RandomViews();
    const Result<Block> viewed = pair.block.Viewed(views);
    ASSERT_TRUE(viewed.has_value()) << history_;
    std::map<TensorIndex, Shape> shapes = shapes_;
    for (const auto& [tensor, view] : views) {
      shapes[tensor] = ViewedShape(view, shapes[tensor]);
    }
    ASSERT_EQ(viewed->shape(), pair.elements.shape) << history_;
    ASSERT_EQ(ElementsOfRegions(*viewed, shapes), pair.elements.values) << history_;
  }

  void ExpectEqual(const Pair& pair) const {
    ASSERT_EQ(pair.block.shape(), pair.elements.shape) << history_;
    ASSERT_EQ(ElementsOfRegions(pair.block, shapes_), pair.elements.values) << history_;
  }

 private:
  std::int64_t Pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  void Note(const std::string& operation) { history_ += operation + "; "; }

  void Slice(Pair& pair, int dim, std::int64_t size) {
    const std::int64_t start = Pick(0, size / 2);
    const std::int64_t stop = Pick(0, 15) == 0 ? start : Pick(start, size);
    pair.block = pair.block.Slice(dim, start, stop);
    pair.elements = SliceElements(pair.elements, dim, start, stop);
    Note("slice " + std::to_string(dim) + " " + std::to_string(start) + " " + std::to_string(stop));
  }

  // With a new tensor before or behind, its size along `dim` free.
  void Concat(Pair& pair, int dim) {
    Shape other = pair.elements.shape;
    other[static_cast<std::size_t>(dim)] = Pick(0, 4);
    const Pair added = NewTensor(other);
    const bool behind = Pick(0, 1) == 1;
    const Pair& first = behind ? pair : added;
    const Pair& second = behind ? added : pair;
    pair = {Block::Concat(dim, std::vector{first.block, second.block}),
            ConcatElements(dim, {first.elements, second.elements})};
    Note(std::string(behind ? "append " : "prepend ") + std::to_string(dim));
  }

  void Stack(Pair& pair) {
    const Pair added = NewTensor(pair.elements.shape);
    pair.block = Block::Stack(std::vector{pair.block, added.block});
    Shape with_entry = pair.elements.shape;
    with_entry.insert(with_entry.begin(), 1);
    pair.elements = ConcatElements(
        0, {{with_entry, pair.elements.values}, {with_entry, added.elements.values}});
    Note("stack");
  }

  void Transpose(Pair& pair) {
    std::vector<int> order(pair.elements.shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    pair.block = pair.block.Transpose(order);
    pair.elements = TransposeElements(pair.elements, order);
    std::string note = "transpose";
    for (const int dim : order) note.append(1, ' ').append(std::to_string(dim));
    Note(note);
  }

  // Rows stay where they are in row-major order: only the shape of the oracle changes.
  void Split(Pair& pair, int dim, std::int64_t size) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t inner = 1; inner <= std::max<std::int64_t>(size, 1); ++inner) {
      if (size % inner == 0) divisors.push_back(inner);
    }
    const std::int64_t inner =
        divisors[static_cast<std::size_t>(Pick(0, static_cast<std::int64_t>(divisors.size()) - 1))];
    pair.block = *pair.block.SplitDim(dim, inner);
    pair.elements.shape[static_cast<std::size_t>(dim)] = size / inner;
    pair.elements.shape.insert(pair.elements.shape.begin() + dim + 1, inner);
    Note("split " + std::to_string(dim) + " by " + std::to_string(inner));
  }

  void Merge(Pair& pair) {
    const auto dims = static_cast<std::int64_t>(pair.elements.shape.size());
    if (dims < 2) return;
    const auto dim = static_cast<std::size_t>(Pick(0, dims - 2));
    pair.block = *pair.block.MergeDims(static_cast<int>(dim));
    pair.elements.shape[dim] *= pair.elements.shape[dim + 1];
    pair.elements.shape.erase(pair.elements.shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1);
    Note("merge " + std::to_string(dim));
  }

  std::mt19937_64 random_;
  std::map<TensorIndex, Shape> shapes_;
  std::string history_;
};

TEST(BlockTest, AnyExpressionEqualsItsElementsWrittenOut) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomBlocks blocks(seed);
    Pair pair = blocks.NewTensor(blocks.RandomShape());
    for (int operation = 0; operation < 10; ++operation) {
      blocks.Change(pair);
      if (Product(pair.elements.shape) > 4000) break;
    }
    blocks.ExpectEqual(pair);
    blocks.ExpectEqualViewed(pair);
    if (HasFatalFailure()) return;
  }
}

// Every other column is a region of its own, and one box where columns are seen by twos.
TEST(BlockTest, AlternatingColumnsAreOneRegionOfTheirView) {
  const Block pairs = *Block::OfTensor(0, {5, 12}).SplitDim(1, 2);
  const Block odd = *pairs.Slice(2, 1, 2).MergeDims(1);
  EXPECT_EQ(odd.shape(), (Shape{5, 6}));
  EXPECT_EQ(odd.RegionCount(), 6);
  const Block viewed = *odd.Viewed({{0, {.dim = 1, .inner = 2}}});
  ASSERT_EQ(viewed.RegionCount(), 1);
  RegionTable regions;
  viewed.AppendRegions(0, regions);
  const Region region = regions[0];
  EXPECT_EQ(Shape(region.begin.begin(), region.begin.end()), (Shape{0, 0, 1}));
  EXPECT_EQ(Shape(region.extent.begin(), region.extent.end()), (Shape{5, 6, 1}));
  EXPECT_EQ(region.stride[0], 6);
  EXPECT_EQ(region.stride[1], 1);
}

}  // namespace
}  // namespace reshard
