// Layouts as everyone first learns them: an array is a list of numbers, cutting it makes a shorter
// list. Slow, obvious, and without a line in common with the layouts under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reshard {

// Which element of which tensor; tensor -1 is padding, kNaiveZero an element that must be zero.
inline constexpr std::int32_t kNaiveZero = -2;
struct ElementName {
  std::int32_t tensor = -1;
  std::int64_t index = 0;
  bool operator==(const ElementName&) const = default;
};

// Row-major.
struct NaiveArray {
  std::vector<std::int64_t> shape;
  std::vector<ElementName> elements;
};

// The whole of a logical tensor.
NaiveArray WholeArray(std::int32_t tensor, const std::vector<std::int64_t>& shape);

// numpy.take: the given indices along one dim, in the order given.
NaiveArray Take(const NaiveArray& array, std::size_t dim, const std::vector<std::int64_t>& indices);

// numpy.concatenate; other dims are equal.
NaiveArray Concatenate(const std::vector<NaiveArray>& parts, std::size_t dim);

// One word of a placement list.
struct NaivePlacement {
  int dim = -1;            // -1: replicated
  std::int64_t split = 1;  // more than 1: torch's _StridedShard
  // How the dim is cut: "chunk", "balanced", or "sizes" with one size per rank of the axis.
  std::string cut = "chunk";
  std::vector<std::int64_t> sizes;
};

// The indices of a dim of `size` that piece `index` of `count` has.
std::vector<std::int64_t> PieceOf(std::int64_t size, std::int64_t count, std::int64_t index,
                                  const NaivePlacement& placement);

// What the rank at `coordinate` of a mesh of `axes` has of `array`; placements are applied in
// `order` (numbers of axes), each on what the one before left.
NaiveArray Place(NaiveArray array, const std::vector<std::int64_t>& axes,
                 const std::vector<std::int64_t>& coordinate,
                 const std::vector<NaivePlacement>& placements, const std::vector<int>& order);

}  // namespace reshard
