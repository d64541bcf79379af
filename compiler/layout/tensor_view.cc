#include "compiler/layout/tensor_view.h"

#include <algorithm>
#include <cstddef>

namespace reshard {
namespace {

std::vector<std::int64_t> SplitAt(std::span<const std::int64_t> values, std::size_t dim,
                                  std::int64_t outer, std::int64_t inner) {
  std::vector<std::int64_t> split(values.begin(), values.end());
  split[dim] = outer;
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(dim) + 1, inner);
  return split;
}

}  // namespace

std::vector<std::int64_t> ViewedShape(const TensorView& view,
                                      const std::vector<std::int64_t>& shape) {
  const auto dim = static_cast<std::size_t>(view.dim);
  return SplitAt(shape, dim, shape[dim] / view.inner, view.inner);
}

void AddViewed(const TensorView& view, const Region& region, RegionTable& regions) {
  const auto dim = static_cast<std::size_t>(view.dim);
  const std::int64_t inner = view.inner;
  const std::int64_t stride = region.stride[dim];
  const std::int64_t stop = region.begin[dim] + region.extent[dim];
  for (std::int64_t at = region.begin[dim]; at < stop;) {
    // To the end of this stretch, or all whole stretches that follow.
    const std::int64_t phase = at % inner;
    const std::int64_t stretches = phase == 0 ? (stop - at) / inner : 0;
    const std::int64_t outer = std::max<std::int64_t>(stretches, 1);
    const std::int64_t within = stretches > 0 ? inner : std::min(inner - phase, stop - at);
    regions.Add({region.tensor, region.parameter, region.offset + (at - region.begin[dim]) * stride,
                 SplitAt(region.begin, dim, at / inner, phase),
                 SplitAt(region.extent, dim, outer, within),
                 SplitAt(region.stride, dim, stride * inner, stride)});
    at += stretches > 0 ? outer * inner : within;
  }
}

}  // namespace reshard
