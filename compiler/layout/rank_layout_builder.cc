#include "compiler/layout/rank_layout_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// Of one parameter of one rank; no real layout has a fraction of these.
constexpr std::int64_t kMostRegions = std::int64_t{1} << 22;

}  // namespace

Result<ParameterIndex> RankLayoutBuilder::AddParameter(Parameter parameter) {
  // Sizes of 0 count as 1: the strides of an empty parameter must fit as well.
  std::int64_t bytes = ElementBytes(parameter.dtype);
  for (const std::int64_t size : parameter.shape) {
    const std::optional<std::int64_t> product =
        CheckedMultiply(bytes, std::max<std::int64_t>(size, 1));
    if (!product) return InputError(parameter.name, "its size does not fit 64 bits");
    bytes = *product;
  }
  layout_.parameters.push_back(std::move(parameter));
  return static_cast<ParameterIndex>(layout_.parameters.size() - 1);
}

Result<void> RankLayoutBuilder::AddParameter(std::string name, DType dtype, const Block& block) {
  const Result<ParameterIndex> parameter = AddParameter({std::move(name), dtype, block.shape()});
  if (!parameter) return tl::unexpected(parameter.error());
  const std::int64_t first = layout_.regions.size();
  const Result<Block> viewed = model_->views.empty() ? block : block.Viewed(model_->views);
  Result<void> appended =
      viewed ? AppendRegions(*parameter, *viewed) : Result<void>(tl::unexpected(viewed.error()));
  if (!appended) {
    appended.error().place = layout_.parameters.back().name;
    return appended;
  }
  for (std::int64_t r = first; r < layout_.regions.size(); ++r) {
    const Tensor& tensor = model_->tensors[static_cast<std::size_t>(layout_.regions[r].tensor)];
    if (tensor.dtype == dtype) continue;
    return InputError(layout_.parameters.back().name,
                      "the parameter is " + std::string(Name(dtype)) + ", but tensor " +
                          tensor.name + " in it is " + std::string(Name(tensor.dtype)));
  }
  return {};
}

Result<void> RankLayoutBuilder::AppendRegions(ParameterIndex parameter, const Block& block) {
  if (block.RegionCount() > kMostRegions || block.ZeroCount() > kMostRegions) {
    return InputError("", "it would be more than " + std::to_string(kMostRegions) + " regions",
                      "order its elements in longer runs");
  }
  block.AppendRegions(parameter, layout_.regions);
  block.AppendZeros(parameter, layout_.zeros);
  return {};
}

void RankLayoutBuilder::AddRegion(const Region& region) {
  const auto view = model_->views.find(region.tensor);
  if (view == model_->views.end()) {
    layout_.regions.Add(region);
  } else {
    AddViewed(view->second, region, layout_.regions);
  }
}

Result<RankLayout> RankLayoutBuilder::Build() && {
  RankLayout layout = SortedLayout(std::move(layout_));
  const auto twice =
      std::adjacent_find(layout.parameters.begin(), layout.parameters.end(),
                         [](const Parameter& a, const Parameter& b) { return a.name == b.name; });
  if (twice != layout.parameters.end()) {
    return InputError(twice->name, "two parameters of one rank have this name",
                      "give each its own name");
  }
  return layout;
}

namespace {

// Adds `zeros`, their parameters renumbered, by (parameter, offset).
void AddSortedZeros(const RegionTable& zeros, const std::vector<ParameterIndex>& place_of,
                    RegionTable& sorted) {
  std::vector<std::pair<std::pair<ParameterIndex, std::int64_t>, std::int64_t>> order;
  for (std::int64_t z = 0; z < zeros.size(); ++z) {
    order.push_back({{place_of[static_cast<std::size_t>(zeros[z].parameter)], zeros[z].offset}, z});
  }
  std::sort(order.begin(), order.end());
  for (const auto& [place, z] : order) {
    Region region = zeros[z];
    region.parameter = place.first;
    sorted.Add(region);
  }
}

}  // namespace

RankLayout SortedLayout(RankLayout layout) {
  const std::size_t parameter_count = layout.parameters.size();
  std::vector<std::size_t> parameters(parameter_count);
  std::iota(parameters.begin(), parameters.end(), 0);
  std::stable_sort(parameters.begin(), parameters.end(), [&](std::size_t a, std::size_t b) {
    return layout.parameters[a].name < layout.parameters[b].name;
  });
  std::vector<ParameterIndex> place_of(parameter_count);
  RankLayout sorted;
  sorted.parameters.reserve(parameter_count);
  for (std::size_t i = 0; i < parameter_count; ++i) {
    place_of[parameters[i]] = static_cast<ParameterIndex>(i);
    sorted.parameters.push_back(std::move(layout.parameters[parameters[i]]));
  }

  // Tensors tell most regions apart: sort by them alone, then within each.
  std::vector<std::pair<TensorIndex, std::int64_t>> regions;
  regions.reserve(static_cast<std::size_t>(layout.regions.size()));
  for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
    regions.emplace_back(layout.regions[r].tensor, r);
  }
  const auto within_tensor = [&](const auto& a, const auto& b) {
    const Region left = layout.regions[a.second];
    const Region right = layout.regions[b.second];
    const auto order = std::lexicographical_compare_three_way(
        left.begin.begin(), left.begin.end(), right.begin.begin(), right.begin.end());
    if (order != 0) return order < 0;
    const ParameterIndex left_place = place_of[static_cast<std::size_t>(left.parameter)];
    const ParameterIndex right_place = place_of[static_cast<std::size_t>(right.parameter)];
    return std::pair(left_place, left.offset) < std::pair(right_place, right.offset);
  };
  std::sort(regions.begin(), regions.end());
  for (auto first = regions.begin(); first != regions.end();) {
    auto last = first;
    while (last != regions.end() && last->first == first->first) ++last;
    std::sort(first, last, within_tensor);
    first = last;
  }
  sorted.regions.Reserve(layout.regions);
  for (const auto& [tensor, r] : regions) {
    Region region = layout.regions[r];
    region.parameter = place_of[static_cast<std::size_t>(region.parameter)];
    sorted.regions.Add(region);
  }
  AddSortedZeros(layout.zeros, place_of, sorted.zeros);
  sorted.conversions = std::move(layout.conversions);
  for (Conversion& conversion : sorted.conversions) {
    conversion.parameter = place_of[static_cast<std::size_t>(conversion.parameter)];
    conversion.source = place_of[static_cast<std::size_t>(conversion.source)];
  }
  std::ranges::sort(sorted.conversions, {}, &Conversion::parameter);
  return sorted;
}

}  // namespace reshard
