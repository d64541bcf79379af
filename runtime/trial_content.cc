#include "runtime/trial_content.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#include "foundation/checked_arithmetic.h"
#include "runtime/conversion_lowering.h"
#include "runtime/region_walk.h"
#include "schedules/dtype.h"

namespace reshard {
namespace {

Result<std::int64_t> BytesOf(const Parameter& parameter) {
  const std::optional<std::int64_t> elements = CheckedProduct(parameter.shape);
  const std::optional<std::int64_t> bytes =
      elements ? CheckedMultiply(*elements, ElementBytes(parameter.dtype)) : std::nullopt;
  if (!bytes || *bytes < 0) {
    return InputError("parameter " + parameter.name, "its size does not fit 64 bits");
  }
  return *bytes;
}

const RankLayout& NoRegions() {
  static const RankLayout* const kNone = new RankLayout();
  return *kNone;
}

// For a RegionWalk: writes value_of(logical index), of `element_bytes`, for every element.
template <typename ValueOf>
auto ElementWriter(std::int64_t element_bytes, std::byte* parameter, ValueOf value_of) {
  return [=](std::int64_t index, std::int64_t position, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t value = value_of(index + i);
      std::memcpy(parameter + (position + i) * element_bytes, &value,
                  static_cast<std::size_t>(element_bytes));
    }
    return true;
  };
}

// The destination parameter that shares memory with each source parameter of an inPlace pair.
std::map<ParameterIndex, ParameterIndex> PairsOf(const JobRecords& job, const RankLayout& source,
                                                 const RankLayout& destination) {
  std::map<ParameterIndex, ParameterIndex> pairs;
  if (job.in_place.empty()) return pairs;
  const auto positions = [](const RankLayout& layout) {
    std::map<std::string, ParameterIndex> by_name;
    for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
      by_name.emplace(layout.parameters[i].name, static_cast<ParameterIndex>(i));
    }
    return by_name;
  };
  const std::map<std::string, ParameterIndex> sources = positions(source);
  const std::map<std::string, ParameterIndex> destinations = positions(destination);
  for (const InPlacePair& pair : job.in_place) {
    const auto from = sources.find(pair.source_parameter);
    const auto to = destinations.find(pair.destination_parameter);
    if (from != sources.end() && to != destinations.end()) pairs.emplace(from->second, to->second);
  }
  return pairs;
}

}  // namespace

RegionsByParameter::RegionsByParameter(const RankLayout& layout)
    : first_(layout.parameters.size() + 1, 0),
      regions_(static_cast<std::size_t>(layout.regions.size())) {
  for (std::int64_t i = 0; i < layout.regions.size(); ++i) {
    ++first_[static_cast<std::size_t>(layout.regions[i].parameter) + 1];
  }
  for (std::size_t p = 1; p < first_.size(); ++p) first_[p] += first_[p - 1];
  std::vector<std::int64_t> next(first_.begin(), first_.end() - 1);
  for (std::int64_t i = 0; i < layout.regions.size(); ++i) {
    const auto parameter = static_cast<std::size_t>(layout.regions[i].parameter);
    regions_[static_cast<std::size_t>(next[parameter]++)] = i;
  }
}

std::span<const std::int64_t> RegionsByParameter::Of(ParameterIndex parameter) const {
  const auto p = static_cast<std::size_t>(parameter);
  return std::span(regions_).subspan(static_cast<std::size_t>(first_[p]),
                                     static_cast<std::size_t>(first_[p + 1] - first_[p]));
}

Result<std::int64_t> TrialBytes(const JobRecords& job) {
  std::vector<std::int64_t> layout_bytes;
  std::int64_t largest = 0;
  const auto too_many = [] { return InputError("job", "its bytes do not fit 64 bits"); };
  for (const RankLayout& layout : job.layouts) {
    std::int64_t total = 0;
    const std::vector<bool> computed =
        ComputedParameters(layout.conversions, layout.parameters.size());
    for (std::size_t p = 0; p < layout.parameters.size(); ++p) {
      if (computed[p]) continue;
      const Result<std::int64_t> bytes = BytesOf(layout.parameters[p]);
      if (!bytes) return bytes;
      const std::optional<std::int64_t> sum = CheckedAdd(total, *bytes);
      if (!sum) return too_many();
      total = *sum;
      largest = std::max(largest, *bytes);
    }
    layout_bytes.push_back(total);
  }
  std::int64_t total = largest;  // the image
  for (const Rank& rank : job.ranks) {
    for (const LayoutIndex layout : {rank.source_layout, rank.destination_layout}) {
      if (layout == kNoLayout) continue;
      const std::optional<std::int64_t> sum =
          CheckedAdd(total, layout_bytes[static_cast<std::size_t>(layout)]);
      if (!sum) return too_many();
      total = *sum;
    }
  }
  return total;
}

TrialMemory::TrialMemory(const JobRecords& job, RankIndex rank)
    : job_(&job),
      rank_(rank),
      source_layout_(Layout(job.ranks[static_cast<std::size_t>(rank)].source_layout)),
      destination_layout_(Layout(job.ranks[static_cast<std::size_t>(rank)].destination_layout)),
      origins_(job),
      source_regions_(*source_layout_),
      destination_regions_(*destination_layout_) {}

const RankLayout* TrialMemory::Layout(LayoutIndex layout) const {
  return layout == kNoLayout ? &NoRegions() : &job_->layouts[static_cast<std::size_t>(layout)];
}

Result<TrialMemory> TrialMemory::Make(const JobRecords& job, RankIndex rank) {
  TrialMemory memory(job, rank);
  const std::map<ParameterIndex, ParameterIndex> pairs =
      PairsOf(job, *memory.source_layout_, *memory.destination_layout_);
  std::vector<bool> is_paired(memory.destination_layout_->parameters.size(), false);
  const auto add = [&memory](std::optional<ParameterIndex> source,
                             std::optional<ParameterIndex> destination) -> Result<void> {
    Buffer buffer = {nullptr, 0, source, destination};
    for (const auto& [layout, parameter] : {std::pair(memory.source_layout_, source),
                                            std::pair(memory.destination_layout_, destination)}) {
      if (!parameter) continue;
      const Result<std::int64_t> bytes =
          BytesOf(layout->parameters[static_cast<std::size_t>(*parameter)]);
      if (!bytes) return tl::unexpected(bytes.error());
      buffer.bytes = std::max(buffer.bytes, *bytes);
    }
    buffer.data.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(buffer.bytes)]);
    if (buffer.data == nullptr) {
      return RunError("rank " + std::to_string(memory.rank_),
                      "no memory for its parameters (" + std::to_string(buffer.bytes) + " bytes)",
                      "replay a smaller job");
    }
    memory.buffers_.push_back(std::move(buffer));
    return {};
  };
  const std::vector<bool> computed = ComputedParameters(memory.source_layout_->conversions,
                                                        memory.source_layout_->parameters.size());
  for (std::size_t s = 0; s < memory.source_layout_->parameters.size(); ++s) {
    if (computed[s]) continue;
    const auto source = static_cast<ParameterIndex>(s);
    const auto pair = pairs.find(source);
    std::optional<ParameterIndex> destination;
    if (pair != pairs.end()) {
      destination = pair->second;
      is_paired[static_cast<std::size_t>(pair->second)] = true;
    }
    if (const Result<void> added = add(source, destination); !added) {
      return tl::unexpected(added.error());
    }
  }
  for (std::size_t d = 0; d < is_paired.size(); ++d) {
    if (is_paired[d]) continue;
    if (const Result<void> added = add(std::nullopt, static_cast<ParameterIndex>(d)); !added) {
      return tl::unexpected(added.error());
    }
  }
  return memory;
}

std::vector<NamedBuffer> TrialMemory::SourceBuffers() const {
  std::vector<NamedBuffer> named;
  for (const Buffer& buffer : buffers_) {
    if (!buffer.source) continue;
    const Parameter& parameter =
        source_layout_->parameters[static_cast<std::size_t>(*buffer.source)];
    named.push_back({parameter.name, buffer.data.get(), *BytesOf(parameter)});
  }
  return named;
}

std::vector<NamedBuffer> TrialMemory::DestinationBuffers() const {
  std::vector<NamedBuffer> named;
  for (const Buffer& buffer : buffers_) {
    if (!buffer.destination) continue;
    const Parameter& parameter =
        destination_layout_->parameters[static_cast<std::size_t>(*buffer.destination)];
    named.push_back({parameter.name, buffer.data.get(), *BytesOf(parameter)});
  }
  return named;
}

void TrialMemory::Write(const RankLayout& layout, const RegionsByParameter& regions,
                        ParameterIndex parameter, std::uint64_t refit, std::byte* image) const {
  for (const std::int64_t number : regions.Of(parameter)) {
    const Region region = layout.regions[number];
    const Tensor& tensor = job_->tensors[static_cast<std::size_t>(region.tensor)];
    const std::int64_t element_bytes = ElementBytes(tensor.dtype);
    TrialTensor values(*job_, origins_, refit, region.tensor);
    const auto value_of = [&values](std::int64_t index) { return values.Value(index); };
    RegionWalk(region, tensor.shape, ElementWriter(element_bytes, image, value_of)).Run();
  }
}

void TrialMemory::WriteOrigins(ParameterIndex parameter, std::uint64_t refit,
                               std::byte* image) const {
  const std::int64_t element_bytes =
      ElementBytes(source_layout_->parameters[static_cast<std::size_t>(parameter)].dtype);
  for (const Conversion& conversion : source_layout_->conversions) {
    if (conversion.source != parameter) continue;
    for (const std::int64_t number : source_regions_.Of(conversion.parameter)) {
      const Region region = source_layout_->regions[number];
      const ConvertedTensor& converted = *origins_.Conversion(region.tensor);
      const TrialTensor values(*job_, origins_, refit, region.tensor);
      const auto value_of = [&values](std::int64_t index) { return values.OriginValue(index); };
      const OriginRegion origin = OriginOf(region, conversion);
      RegionWalk(
          {region.tensor, parameter, origin.offset, origin.begin, origin.extent, origin.stride},
          converted.origin_shape, ElementWriter(element_bytes, image, value_of))
          .Run();
    }
  }
}

void TrialMemory::Paint(const Buffer& buffer, std::uint64_t refit, bool is_installed,
                        std::byte* image) const {
  std::fill_n(image, buffer.bytes, kUntouchedByte);
  if (buffer.source) {
    Write(*source_layout_, source_regions_, *buffer.source, refit, image);
    WriteOrigins(*buffer.source, refit, image);
  }
  if (buffer.destination && is_installed) {
    Write(*destination_layout_, destination_regions_, *buffer.destination, refit, image);
    const RegionTable& zeros = destination_layout_->zeros;
    for (std::int64_t i = 0; i < zeros.size(); ++i) {
      const Region region = zeros[i];
      if (region.parameter != *buffer.destination) continue;
      const std::int64_t element_bytes = ElementBytes(
          destination_layout_->parameters[static_cast<std::size_t>(region.parameter)].dtype);
      WalkZeros(region, [&](std::int64_t position, std::int64_t count) {
        std::fill_n(image + position * element_bytes, count * element_bytes, std::byte{0});
        return true;
      });
    }
  }
}

void TrialMemory::Fill(std::uint64_t refit) {
  for (const Buffer& buffer : buffers_) Paint(buffer, refit, false, buffer.data.get());
}

std::string TrialMemory::NameOf(const Buffer& buffer) const {
  std::string name;
  if (buffer.source) {
    name = "source parameter " +
           source_layout_->parameters[static_cast<std::size_t>(*buffer.source)].name;
  }
  if (buffer.destination) {
    name += (name.empty() ? "" : ", ") + std::string("destination parameter ") +
            destination_layout_->parameters[static_cast<std::size_t>(*buffer.destination)].name;
  }
  return name;
}

Result<void> TrialMemory::Check(std::uint64_t refit) const {
  std::vector<std::byte> image;
  for (const Buffer& buffer : buffers_) {
    const auto bytes = static_cast<std::size_t>(buffer.bytes);
    if (image.size() < bytes) image.resize(bytes);
    Paint(buffer, refit, true, image.data());
    if (bytes == 0 || std::memcmp(image.data(), buffer.data.get(), bytes) == 0) continue;
    const auto wrong =
        std::mismatch(image.begin(), image.begin() + buffer.bytes, buffer.data.get()).first -
        image.begin();
    const auto hex = [](std::byte value) {
      constexpr char kDigits[] = "0123456789abcdef";
      return std::string{'0', 'x', kDigits[std::to_integer<int>(value) >> 4],
                         kDigits[std::to_integer<int>(value) & 15]};
    };
    return RunError("rank " + std::to_string(rank_) + ": " + NameOf(buffer),
                    "byte " + std::to_string(wrong) + " is " +
                        hex(buffer.data[static_cast<std::size_t>(wrong)]) + " after refit " +
                        std::to_string(refit) + " and should be " +
                        hex(image[static_cast<std::size_t>(wrong)]),
                    "verify the plan; if it passes, report this");
  }
  return {};
}

}  // namespace reshard
