#include "compiler/job/computed_parameters.h"

#include <string>
#include <tuple>

#include "compiler/layout/rank_layout_builder.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

std::string SizesText(std::span<const std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

Result<void> CheckWholeBlocks(const Region& region, const ConvertedTensor& converted) {
  for (std::size_t d = 0; d < region.extent.size(); ++d) {
    const std::int64_t end = region.begin[d] + region.extent[d];
    const std::int64_t block = converted.block[d];
    const std::int64_t size = converted.origin_shape[d];
    if (region.begin[d] % block == 0 && (end % block == 0 || end == size)) continue;
    return InputError(
        "",
        "tensor " + converted.origin + ": its shard has " + std::to_string(region.begin[d]) +
            " to " + std::to_string(end) + " of " + std::to_string(size) + " along dim " +
            std::to_string(d) + ", which cuts a block of " + SizesText(converted.block) +
            ": a block's scale needs all of it on one rank",
        "choose degrees whose shards end on block boundaries, or cast this tensor to a dtype "
        "without blocks");
  }
  return {};
}

}  // namespace

ComputedParameterBuilder::ComputedParameterBuilder(const Model& tensors, RankLayout stored)
    : tensors_(tensors), layout_(std::move(stored)) {
  layout_.regions = {};
}

void ComputedParameterBuilder::Keep(const Region& region) { layout_.regions.Add(region); }

Result<void> ComputedParameterBuilder::Convert(const Region& region,
                                               const ConvertedTensor& converted) {
  if (IsOfBlocks(converted.kind)) return ConvertBlocks(region, converted);
  const DType dtype = tensors_.tensors[static_cast<std::size_t>(region.tensor)].dtype;
  const auto [found, is_new] =
      computed_.try_emplace(std::tuple(region.parameter, converted.kind, dtype),
                            static_cast<ParameterIndex>(layout_.parameters.size()));
  if (is_new) {
    Parameter computed = layout_.parameters[static_cast<std::size_t>(region.parameter)];
    const std::int64_t elements = *CheckedProduct(computed.shape);  // its layout was built
    computed.name += " -> " + std::string(Name(converted.kind)) + " " + std::string(Name(dtype));
    computed.dtype = dtype;
    layout_.parameters.push_back(std::move(computed));
    layout_.conversions.push_back(
        {found->second, region.parameter, converted.kind, 0, {elements}, {1}, {}});
  }
  Region own = region;
  own.parameter = found->second;
  layout_.regions.Add(own);
  return {};
}

Result<void> ComputedParameterBuilder::ConvertBlocks(const Region& region,
                                                     const ConvertedTensor& converted) {
  if (const Result<void> whole = CheckWholeBlocks(region, converted); !whole) return whole;
  Conversion conversion;
  conversion.parameter = static_cast<ParameterIndex>(layout_.parameters.size());
  conversion.source = region.parameter;
  conversion.kind = converted.kind;
  conversion.offset = region.offset;
  conversion.extent.assign(region.extent.begin(), region.extent.end());
  conversion.stride.assign(region.stride.begin(), region.stride.end());
  conversion.block = converted.block;

  Parameter computed;
  computed.dtype = tensors_.tensors[static_cast<std::size_t>(region.tensor)].dtype;
  computed.name = layout_.parameters[static_cast<std::size_t>(region.parameter)].name + " -> " +
                  std::string(Name(converted.kind)) + " " + SizesText(converted.block) + " of " +
                  converted.origin + " from " + SizesText(region.begin);
  std::vector<std::int64_t> begin(region.begin.begin(), region.begin.end());
  for (std::size_t d = 0; d < conversion.extent.size(); ++d) {
    // A dim of one element has a stride that is never taken, and may be anything.
    if (conversion.extent[d] == 1) conversion.stride[d] = 0;
    computed.shape.push_back(conversion.Count(d));
    if (IsOfScales(converted.kind)) begin[d] /= converted.block[d];
  }
  std::vector<std::int64_t> stride(computed.shape.size(), 1);
  for (std::size_t d = stride.size(); d-- > 1;) stride[d - 1] = stride[d] * computed.shape[d];
  layout_.regions.Add({region.tensor, conversion.parameter, 0, begin, computed.shape, stride});
  layout_.parameters.push_back(std::move(computed));
  layout_.conversions.push_back(std::move(conversion));
  return {};
}

RankLayout ComputedParameterBuilder::Build() && { return SortedLayout(std::move(layout_)); }

}  // namespace reshard
