#include "tests/end_to_end/naive_array.h"

#include <algorithm>

namespace reshard {
namespace {

std::int64_t Product(const std::vector<std::int64_t>& shape, std::size_t first, std::size_t last) {
  std::int64_t product = 1;
  for (std::size_t d = first; d < last; ++d) product *= shape[d];
  return product;
}

// torch.chunk, as lists: pieces of ceil(n / count) while they last, then empty ones.
std::vector<std::vector<std::int64_t>> Chunks(const std::vector<std::int64_t>& list,
                                              std::int64_t count) {
  const auto n = static_cast<std::int64_t>(list.size());
  const std::int64_t each = (n + count - 1) / count;
  std::vector<std::vector<std::int64_t>> chunks;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = std::min(n, i * each);
    const std::int64_t end = std::min(n, begin + each);
    chunks.emplace_back(list.begin() + begin, list.begin() + end);
  }
  return chunks;
}

}  // namespace

NaiveArray WholeArray(std::int32_t tensor, const std::vector<std::int64_t>& shape) {
  NaiveArray array = {shape, {}};
  const std::int64_t count = Product(shape, 0, shape.size());
  for (std::int64_t i = 0; i < count; ++i) array.elements.push_back({tensor, i});
  return array;
}

NaiveArray Take(const NaiveArray& array, std::size_t dim,
                const std::vector<std::int64_t>& indices) {
  NaiveArray taken = {array.shape, {}};
  taken.shape[dim] = static_cast<std::int64_t>(indices.size());
  const std::int64_t outer = Product(array.shape, 0, dim);
  const std::int64_t inner = Product(array.shape, dim + 1, array.shape.size());
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t index : indices) {
      for (std::int64_t i = 0; i < inner; ++i) {
        taken.elements.push_back(
            array.elements[static_cast<std::size_t>((o * array.shape[dim] + index) * inner + i)]);
      }
    }
  }
  return taken;
}

NaiveArray Concatenate(const std::vector<NaiveArray>& parts, std::size_t dim) {
  NaiveArray joined = {parts.front().shape, {}};
  joined.shape[dim] = 0;
  for (const NaiveArray& part : parts) joined.shape[dim] += part.shape[dim];
  const std::int64_t outer = Product(joined.shape, 0, dim);
  const std::int64_t inner = Product(joined.shape, dim + 1, joined.shape.size());
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const NaiveArray& part : parts) {
      const std::int64_t row = part.shape[dim] * inner;
      for (std::int64_t i = 0; i < row; ++i) {
        joined.elements.push_back(part.elements[static_cast<std::size_t>(o * row + i)]);
      }
    }
  }
  return joined;
}

std::vector<std::int64_t> PieceOf(std::int64_t size, std::int64_t count, std::int64_t index,
                                  const NaivePlacement& placement) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < size; ++i) all.push_back(i);
  if (placement.split > 1) {
    // torch 2.15: chunk into `split` pieces, chunk each over the axis, join the index-th parts.
    std::vector<std::int64_t> piece;
    for (const std::vector<std::int64_t>& chunk : Chunks(all, placement.split)) {
      const std::vector<std::int64_t> part = Chunks(chunk, count)[static_cast<std::size_t>(index)];
      piece.insert(piece.end(), part.begin(), part.end());
    }
    return piece;
  }
  if (placement.cut == "chunk") return Chunks(all, count)[static_cast<std::size_t>(index)];
  std::vector<std::int64_t> sizes = placement.sizes;
  if (placement.cut == "balanced") {
    // Deal the indices out one by one: sizes differ by at most one, larger ones first.
    sizes.assign(static_cast<std::size_t>(count), 0);
    for (std::int64_t i = 0; i < size; ++i) ++sizes[static_cast<std::size_t>(i % count)];
  }
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < index; ++i) begin += sizes[static_cast<std::size_t>(i)];
  const std::int64_t end = begin + sizes[static_cast<std::size_t>(index)];
  return {all.begin() + begin, all.begin() + end};
}

NaiveArray Place(NaiveArray array, const std::vector<std::int64_t>& axes,
                 const std::vector<std::int64_t>& coordinate,
                 const std::vector<NaivePlacement>& placements, const std::vector<int>& order) {
  for (const int number : order) {
    const auto axis = static_cast<std::size_t>(number);
    const NaivePlacement& placement = placements[axis];
    if (placement.dim < 0) continue;
    const auto dim = static_cast<std::size_t>(placement.dim);
    array = Take(array, dim, PieceOf(array.shape[dim], axes[axis], coordinate[axis], placement));
  }
  return array;
}

}  // namespace reshard
