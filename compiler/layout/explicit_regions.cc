#include "compiler/layout/explicit_regions.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compiler/layout/region_overlap.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

Result<TensorIndex> CheckTensor(const Model& model, const ExplicitRegion& region) {
  const std::optional<TensorIndex> tensor = model.Find(region.tensor);
  if (!tensor) return InputError(region.place, "the model has no tensor '" + region.tensor + "'");
  const std::vector<std::int64_t>& shape = model.tensors[static_cast<std::size_t>(*tensor)].shape;
  if (region.box.size() != shape.size()) {
    return InputError(region.place, "box has " + std::to_string(region.box.size()) +
                                        " dims, tensor " + region.tensor + " has " +
                                        std::to_string(shape.size()));
  }
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (region.box[dim].stop <= shape[dim]) continue;
    return InputError(region.place, "box ends at " + std::to_string(region.box[dim].stop) +
                                        " in dim " + std::to_string(dim) + ", tensor " +
                                        region.tensor + " has " + std::to_string(shape[dim]));
  }
  return *tensor;
}

// Row-major element strides of `shape`; none if its size does not fit 64 bits.
std::optional<std::vector<std::int64_t>> RowMajorStrides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  std::int64_t size = 1;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = size;
    const std::optional<std::int64_t> next =
        CheckedMultiply(size, std::max<std::int64_t>(shape[dim], 1));
    if (!next) return std::nullopt;
    size = *next;
  }
  return strides;
}

// Where the box lies in its parameter: offset and strides in elements.
struct Lie {
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};

Result<Lie> PlaceBox(const ExplicitRegion& region) {
  const auto outside = [&] {
    return InputError(region.place, "the box leaves parameter " + region.parameter);
  };
  const std::optional<std::vector<std::int64_t>> row_major = RowMajorStrides(region.shape);
  if (!row_major) return InputError(region.place, "shape does not fit 64 bits");
  if (region.at.size() != region.shape.size()) {
    return InputError(region.place, "at has " + std::to_string(region.at.size()) +
                                        " dims, shape has " + std::to_string(region.shape.size()));
  }
  const bool strided = !region.strides.empty();
  if (strided && region.strides.size() != region.box.size()) {
    return InputError(region.place, "strides has " + std::to_string(region.strides.size()) +
                                        " dims, box has " + std::to_string(region.box.size()));
  }
  if (!strided && region.box.size() != region.shape.size()) {
    return InputError(region.place,
                      "box has " + std::to_string(region.box.size()) + " dims, shape has " +
                          std::to_string(region.shape.size()),
                      "give strides, one per dim of the box");
  }
  Lie lie{0, strided ? region.strides : *row_major};
  for (std::size_t dim = 0; dim < region.shape.size(); ++dim) {
    const std::int64_t extent = strided ? 1 : region.box[dim].stop - region.box[dim].start;
    if (region.at[dim] > region.shape[dim] || extent > region.shape[dim] - region.at[dim]) {
      return outside();
    }
    lie.offset += region.at[dim] * (*row_major)[dim];
  }
  const std::optional<std::int64_t> size = CheckedProduct(region.shape);
  std::optional<std::int64_t> last = lie.offset;
  for (std::size_t dim = 0; dim < region.box.size() && last; ++dim) {
    const std::int64_t extent = region.box[dim].stop - region.box[dim].start;
    const std::optional<std::int64_t> reach = CheckedMultiply(extent - 1, lie.strides[dim]);
    last = reach ? CheckedAdd(*last, *reach) : std::nullopt;
  }
  if (!last || *last >= *size) return outside();
  return lie;
}

}  // namespace

Result<ExplicitRegions> ResolveRegions(const Model& model,
                                       const std::vector<ExplicitRegion>& regions) {
  ExplicitRegions resolved;
  std::set<TensorIndex> tensors;
  std::map<std::pair<std::int32_t, std::string>, std::size_t> known;
  for (const ExplicitRegion& region : regions) {
    const bool zeros = region.tensor.empty();
    const Result<TensorIndex> tensor = zeros ? kZeroTensor : CheckTensor(model, region);
    if (!tensor) return tl::unexpected(tensor.error());
    if (!zeros) tensors.insert(*tensor);
    std::vector<ExplicitParameterRegions>& of_rank = resolved.of_rank[region.rank];
    const auto [entry, added] =
        known.emplace(std::pair(region.rank, region.parameter), of_rank.size());
    if (zeros && added && !region.dtype) {
      return InputError(region.place,
                        "no region before says the dtype of parameter " + region.parameter,
                        "add \"dtype\"");
    }
    const DType dtype =
        !zeros
            ? model.tensors[static_cast<std::size_t>(*tensor)].dtype
            : region.dtype.value_or(added ? DType::kBF16 : of_rank[entry->second].parameter.dtype);
    if (added) of_rank.push_back({{region.parameter, dtype, region.shape}, {}, {}});
    ExplicitParameterRegions& parameter = of_rank[entry->second];
    if (parameter.parameter.shape != region.shape) {
      return InputError(region.place, "parameter " + region.parameter +
                                          " has another shape in an earlier region of this rank");
    }
    if (parameter.parameter.dtype != dtype) {
      return InputError(region.place,
                        "parameter " + region.parameter + " is " +
                            std::string(Name(parameter.parameter.dtype)) + ", " +
                            (zeros ? "these zeros are " : "tensor " + region.tensor + " is ") +
                            std::string(Name(dtype)));
    }
    std::vector<std::int64_t> begin;
    std::vector<std::int64_t> extent;
    bool empty = false;
    for (const DimRange& range : region.box) {
      begin.push_back(range.start);
      extent.push_back(range.stop - range.start);
      empty = empty || range.start == range.stop;
    }
    if (empty) continue;
    const Result<Lie> lie = PlaceBox(region);
    if (!lie) return tl::unexpected(lie.error());
    const Region added_region{*tensor, 0, lie->offset, begin, extent, lie->strides};
    if (!NestedStrides(added_region)) {
      return InputError(region.place, "strides let elements of the box coincide or interlock",
                        "let each stride step over what smaller ones reach");
    }
    (zeros ? parameter.zeros : parameter.regions).Add(added_region);
  }
  resolved.tensors.assign(tensors.begin(), tensors.end());
  return resolved;
}

}  // namespace reshard
