#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foundation/checked_arithmetic.h"
#include "schedules/verification.h"

namespace reshard::verification {
namespace {

// What is wrong with the declaration of a tensor; nothing if it is sound.
std::string TensorFault(const ConvertedTensor& converted, const Tensor& tensor) {
  const std::size_t dims = converted.origin_shape.size();
  if (!Converts(converted.kind, converted.origin_dtype, tensor.dtype)) {
    return fmt::format("{} does not make {} of {}", Name(converted.kind), Name(tensor.dtype),
                       Name(converted.origin_dtype));
  }
  if (converted.origin.empty()) return "its origin has no name";
  if (converted.block.size() != (IsOfBlocks(converted.kind) ? dims : 0)) {
    return "its blocks have not the dims of its origin";
  }
  std::vector<std::int64_t> shape = converted.origin_shape;
  for (std::size_t d = 0; d < dims; ++d) {
    if (shape[d] < 0) return "its origin has a negative size";
    if (converted.block.empty()) continue;
    if (converted.block[d] < 1)
      return fmt::format("its blocks have {} along dim {}", converted.block[d], d);
    if (IsOfScales(converted.kind)) shape[d] = CeilDivide(shape[d], converted.block[d]);
  }
  if (!CheckedProduct(converted.origin_shape)) return "its origin does not fit 64 bits";
  return shape == tensor.shape ? "" : "its shape is not the one its origin gives";
}

// What is wrong with a conversion by itself.
std::string ConversionFault(const Conversion& conversion, const RankLayout& layout,
                            const std::vector<bool>& computed) {
  const auto parameter = [&layout](ParameterIndex index) -> const Parameter& {
    return layout.parameters[static_cast<std::size_t>(index)];
  };
  const Parameter& stored = parameter(conversion.source);
  if (computed[static_cast<std::size_t>(conversion.source)]) {
    return fmt::format("its source \"{}\" is computed itself", stored.name);
  }
  const std::size_t dims = conversion.extent.size();
  const bool is_of_blocks = IsOfBlocks(conversion.kind);
  if (conversion.stride.size() != dims || conversion.block.size() != (is_of_blocks ? dims : 0)) {
    return "its extents, strides and blocks differ in number";
  }
  std::vector<std::int64_t> shape;
  std::optional<std::int64_t> last = conversion.offset;
  for (std::size_t d = 0; d < dims; ++d) {
    const std::int64_t extent = conversion.extent[d];
    const std::int64_t stride = conversion.stride[d];
    if (extent < 1 || stride < (extent > 1 ? 1 : 0) || (is_of_blocks && conversion.block[d] < 1)) {
      return fmt::format("dim {} of its box is none", d);
    }
    const auto reach = CheckedMultiply(extent - 1, stride);
    last = last && reach ? CheckedAdd(*last, *reach) : std::nullopt;
    shape.push_back(conversion.Count(d));
  }
  if (conversion.offset < 0 || !last || *last >= CheckedProduct(stored.shape).value_or(0)) {
    return fmt::format("it reads beyond parameter \"{}\"", stored.name);
  }
  const auto read = CheckedProduct(conversion.extent);
  if (!read || *read > CheckedProduct(stored.shape).value_or(0)) {
    return fmt::format("it reads more elements than parameter \"{}\" has", stored.name);
  }
  const std::vector<std::int64_t>& wanted = parameter(conversion.parameter).shape;
  if (is_of_blocks) return shape == wanted ? "" : "its box has not the shape of its parameter";
  if (dims != 1 || conversion.stride[0] != 1) return "its elements are not one run";
  return CheckedProduct(wanted) == conversion.extent[0]
             ? ""
             : "it has not the elements of its parameter";
}

// Whether a box of blocks is whole blocks of the origin, and the region all of the computed
// parameter.
std::string BlockRegionFault(const Region& region, const Conversion& conversion,
                             const ConvertedTensor& converted) {
  std::int64_t stride = 1;
  for (std::size_t d = region.extent.size(); d-- > 0;) {
    if (region.extent[d] != conversion.Count(d) ||
        (region.extent[d] > 1 && region.stride[d] != stride)) {
      return "it is not the whole of its computed parameter";
    }
    stride *= region.extent[d];
    const std::int64_t block = conversion.block[d];
    const std::int64_t begin = region.begin[d] * (IsOfScales(conversion.kind) ? block : 1);
    const std::int64_t end = begin + conversion.extent[d];
    if (begin % block != 0 || (end % block != 0 && end != converted.origin_shape[d])) {
      return fmt::format("it cuts a block of {} along dim {} of \"{}\"", block, d,
                         converted.origin);
    }
  }
  return region.offset == 0 ? "" : "it is not the whole of its computed parameter";
}

class ConversionChecker {
 public:
  explicit ConversionChecker(const JobRecords& job)
      : job_(job), of_tensor_(job.tensors.size(), nullptr) {}

  Result<void> CheckTensors() {
    TensorIndex last = -1;
    for (const ConvertedTensor& converted : job_.converted) {
      const Tensor& tensor = job_.tensors[static_cast<std::size_t>(converted.tensor)];
      const std::string place = fmt::format("converted tensor \"{}\"", tensor.name);
      if (converted.tensor <= last) return Broken(6, place, "they do not ascend by tensor");
      last = converted.tensor;
      const std::string fault = TensorFault(converted, tensor);
      if (!fault.empty()) return Broken(1, place, fault);
      of_tensor_[static_cast<std::size_t>(converted.tensor)] = &converted;
    }
    return {};
  }

  // `index` is the layout of a source rank.
  Result<void> CheckSource(std::size_t index) const {
    const RankLayout& layout = job_.layouts[index];
    const std::vector<bool> computed =
        ComputedParameters(layout.conversions, layout.parameters.size());
    std::vector<const Conversion*> of_parameter(layout.parameters.size(), nullptr);
    ParameterIndex last = -1;
    for (const Conversion& conversion : layout.conversions) {
      const auto parameter = static_cast<std::size_t>(conversion.parameter);
      const std::string place =
          fmt::format("layout {}, parameter \"{}\"", index, layout.parameters[parameter].name);
      if (conversion.parameter <= last) return Broken(6, place, "conversions do not ascend");
      last = conversion.parameter;
      const std::string fault = ConversionFault(conversion, layout, computed);
      if (!fault.empty()) return Broken(1, place, fault);
      of_parameter[parameter] = &conversion;
    }
    std::vector<bool> has_region(layout.parameters.size(), false);
    for (std::int64_t i = 0; i < layout.regions.size(); ++i) {
      const Region region = layout.regions[i];
      const auto parameter = static_cast<std::size_t>(region.parameter);
      const bool is_second = has_region[parameter];
      has_region[parameter] = true;
      const std::string fault = RegionFault(layout, region, of_parameter[parameter], is_second);
      if (!fault.empty()) return Broken(1, fmt::format("layout {}, region {}", index, i), fault);
    }
    return {};
  }

 private:
  std::string RegionFault(const RankLayout& layout, const Region& region,
                          const Conversion* conversion, bool is_second) const {
    const ConvertedTensor* converted = of_tensor_[static_cast<std::size_t>(region.tensor)];
    const std::string& name = job_.tensors[static_cast<std::size_t>(region.tensor)].name;
    if (conversion == nullptr && converted == nullptr) return "";
    if (conversion == nullptr) {
      return fmt::format("tensor \"{}\" is converted, and the source stores it", name);
    }
    if (converted == nullptr || converted->kind != conversion->kind ||
        converted->block != conversion->block) {
      return fmt::format("its parameter is of another conversion than tensor \"{}\"", name);
    }
    if (layout.parameters[static_cast<std::size_t>(conversion->source)].dtype !=
        converted->origin_dtype) {
      return fmt::format("tensor \"{}\" is not computed from {}", name,
                         Name(converted->origin_dtype));
    }
    if (!IsOfBlocks(conversion->kind)) return "";
    if (is_second) return "another region lies in its computed parameter";
    return BlockRegionFault(region, *conversion, *converted);
  }

  const JobRecords& job_;
  std::vector<const ConvertedTensor*> of_tensor_;
};

// A conversion reads its source at any time before the refit ends.
Result<void> CheckApartFromInPlace(const JobRecords& job) {
  std::set<std::string_view> shared;
  for (const InPlacePair& pair : job.in_place) shared.insert(pair.source_parameter);
  for (const RankLayout& layout : job.layouts) {
    for (const Conversion& conversion : layout.conversions) {
      for (const ParameterIndex index : {conversion.parameter, conversion.source}) {
        const std::string& name = layout.parameters[static_cast<std::size_t>(index)].name;
        if (!shared.contains(name)) continue;
        return Broken(3, fmt::format("in-place parameter \"{}\"", name),
                      "tensors are computed from it, so the destination may not overwrite it");
      }
    }
  }
  return {};
}

}  // namespace

Result<void> VerifyConversions(const Plan& plan) {
  const JobRecords& job = plan.job;
  std::vector<bool> is_source(job.layouts.size(), false);
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    if (rank.source_layout != kNoLayout) {
      is_source[static_cast<std::size_t>(rank.source_layout)] = true;
    }
    if (rank.destination_layout != kNoLayout &&
        !job.layouts[static_cast<std::size_t>(rank.destination_layout)].conversions.empty()) {
      return Broken(1, fmt::format("rank {}", r), "a parameter of its destination is computed");
    }
  }
  ConversionChecker checker(job);
  if (auto done = checker.CheckTensors(); !done) return done;
  for (std::size_t i = 0; i < job.layouts.size(); ++i) {
    if (!is_source[i]) continue;
    if (auto done = checker.CheckSource(i); !done) return done;
  }
  return CheckApartFromInPlace(job);
}

}  // namespace reshard::verification
