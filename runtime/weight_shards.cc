#include "runtime/weight_shards.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/checked_arithmetic.h"
#include "runtime/conversion_lowering.h"
#include "runtime/region_walk.h"
#include "runtime/trial_content.h"
#include "schedules/dtype.h"

namespace reshard {
namespace {

// The elements of a region, out of all of its tensor of `shape`, to where it lies in `parameter`.
void CopyRegion(const Region& region, std::span<const std::int64_t> shape,
                std::int64_t element_bytes, std::span<const std::byte> bytes,
                std::byte* parameter) {
  RegionWalk(region, shape, [&](std::int64_t index, std::int64_t position, std::int64_t count) {
    std::memcpy(parameter + position * element_bytes, bytes.data() + index * element_bytes,
                static_cast<std::size_t>(count * element_bytes));
    return true;
  }).Run();
}

// The numbers of the regions of `tensor`: a layout sorts them by tensor.
std::pair<std::int64_t, std::int64_t> RegionsOf(const RegionTable& regions, TensorIndex tensor) {
  const auto first_not = [&regions](auto is_before) {
    std::int64_t low = 0;
    std::int64_t high = regions.size();
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      (is_before(regions[middle].tensor) ? low : high) =
          is_before(regions[middle].tensor) ? middle + 1 : middle;
    }
    return low;
  };
  return {first_not([tensor](TensorIndex other) { return other < tensor; }),
          first_not([tensor](TensorIndex other) { return other <= tensor; })};
}

}  // namespace

Result<WeightShards::Side> WeightShards::MakeSide(const JobRecords& job, RankIndex rank,
                                                  LayoutIndex layout,
                                                  std::span<const NamedBuffer> buffers) {
  Side side;
  if (layout == kNoLayout) return side;
  side.layout = &job.layouts[static_cast<std::size_t>(layout)];
  std::map<std::string_view, const NamedBuffer*> by_name;
  for (const NamedBuffer& buffer : buffers) by_name.emplace(buffer.name, &buffer);
  const std::vector<bool> computed =
      ComputedParameters(side.layout->conversions, side.layout->parameters.size());
  for (std::size_t p = 0; p < computed.size(); ++p) {
    const Parameter& parameter = side.layout->parameters[p];
    if (computed[p]) {  // no memory
      side.parameters.emplace_back();
      continue;
    }
    const auto buffer = by_name.find(parameter.name);
    const std::optional<std::int64_t> elements = CheckedProduct(parameter.shape);
    const std::optional<std::int64_t> bytes =
        elements ? CheckedMultiply(*elements, ElementBytes(parameter.dtype)) : std::nullopt;
    if (buffer == by_name.end() || !bytes || buffer->second->bytes != *bytes) {
      return InternalError("rank " + std::to_string(rank),
                           "parameter " + parameter.name + " has no buffer of its size");
    }
    side.parameters.emplace_back(buffer->second->data, static_cast<std::size_t>(*bytes));
  }
  return side;
}

Result<WeightShards> WeightShards::Make(const JobRecords& job, RankIndex rank,
                                        std::span<const NamedBuffer> source,
                                        std::span<const NamedBuffer> destination) {
  const Rank& record = job.ranks[static_cast<std::size_t>(rank)];
  Result<Side> from = MakeSide(job, rank, record.source_layout, source);
  if (!from) return tl::unexpected(from.error());
  Result<Side> to = MakeSide(job, rank, record.destination_layout, destination);
  if (!to) return tl::unexpected(to.error());
  WeightShards shards;
  shards.job_ = &job;
  shards.rank_ = rank;
  shards.source_ = *std::move(from);
  shards.destination_ = *std::move(to);
  return shards;
}

void WeightShards::Clear() {
  for (const Side* side : {&source_, &destination_}) {
    for (const std::span<std::byte> parameter : side->parameters) {
      std::fill(parameter.begin(), parameter.end(), std::byte{0});
    }
  }
  if (destination_.layout == nullptr) return;
  for (std::int64_t number = 0; number < destination_.layout->zeros.size(); ++number) {
    const Region region = destination_.layout->zeros[number];
    const auto p = static_cast<std::size_t>(region.parameter);
    const std::int64_t element_bytes = ElementBytes(destination_.layout->parameters[p].dtype);
    std::byte* const parameter = destination_.parameters[p].data();
    WalkZeros(region, [&](std::int64_t position, std::int64_t count) {
      std::fill_n(parameter + position * element_bytes, count * element_bytes, kUntouchedByte);
      return true;
    });
  }
}

void WeightShards::Fill(TensorIndex tensor, std::span<const std::byte> bytes) {
  if (source_.layout == nullptr) return;
  const RegionTable& regions = source_.layout->regions;
  const auto [first, end] = RegionsOf(regions, tensor);
  for (std::int64_t number = first; number < end; ++number) {
    const Region region = regions[number];
    const Tensor& record = job_->tensors[static_cast<std::size_t>(tensor)];
    CopyRegion(region, record.shape, ElementBytes(record.dtype), bytes,
               source_.parameters[static_cast<std::size_t>(region.parameter)].data());
  }
}

void WeightShards::FillOrigin(const ConvertedTensor& tensor, std::span<const std::byte> bytes) {
  if (source_.layout == nullptr) return;
  const RegionTable& regions = source_.layout->regions;
  const auto [first, end] = RegionsOf(regions, tensor.tensor);
  for (std::int64_t number = first; number < end; ++number) {
    const Region region = regions[number];
    const auto conversion = std::ranges::lower_bound(source_.layout->conversions, region.parameter,
                                                     {}, &Conversion::parameter);
    const OriginRegion origin = OriginOf(region, *conversion);
    CopyRegion({tensor.tensor, conversion->source, origin.offset, origin.begin, origin.extent,
                origin.stride},
               tensor.origin_shape, ElementBytes(tensor.origin_dtype), bytes,
               source_.parameters[static_cast<std::size_t>(conversion->source)].data());
  }
}

Result<void> WeightShards::Check(TensorIndex tensor, std::span<const std::byte> bytes) const {
  if (destination_.layout == nullptr) return {};
  const RegionTable& regions = destination_.layout->regions;
  const auto [first, end] = RegionsOf(regions, tensor);
  for (std::int64_t number = first; number < end; ++number) {
    const Region region = regions[number];
    const auto p = static_cast<std::size_t>(region.parameter);
    const std::byte* const parameter = destination_.parameters[p].data();
    std::int64_t wrong = -1;
    const Tensor& record = job_->tensors[static_cast<std::size_t>(tensor)];
    const std::int64_t element_bytes = ElementBytes(record.dtype);
    const auto compare = [&](std::int64_t index, std::int64_t position, std::int64_t count) {
      const std::byte* const held = parameter + position * element_bytes;
      const std::byte* const right = bytes.data() + index * element_bytes;
      const std::int64_t run = count * element_bytes;
      if (std::memcmp(held, right, static_cast<std::size_t>(run)) == 0) return true;
      wrong = std::mismatch(held, held + run, right).first - parameter;
      return false;
    };
    RegionWalk(region, record.shape, compare).Run();
    if (wrong < 0) continue;
    return RunError("rank " + std::to_string(rank_) + ": destination parameter " +
                        destination_.layout->parameters[p].name,
                    "byte " + std::to_string(wrong) + " is not that of tensor " + record.name,
                    "verify the plan; if it passes, report this");
  }
  return {};
}

Result<void> WeightShards::CheckZeros() const {
  if (destination_.layout == nullptr) return {};
  for (std::int64_t number = 0; number < destination_.layout->zeros.size(); ++number) {
    const Region region = destination_.layout->zeros[number];
    const auto p = static_cast<std::size_t>(region.parameter);
    const Parameter& record = destination_.layout->parameters[p];
    const std::int64_t element_bytes = ElementBytes(record.dtype);
    const std::byte* const parameter = destination_.parameters[p].data();
    std::int64_t wrong = -1;
    WalkZeros(region, [&](std::int64_t position, std::int64_t count) {
      const std::byte* const begin = parameter + position * element_bytes;
      const std::byte* const end = begin + count * element_bytes;
      const std::byte* const found =
          std::find_if(begin, end, [](std::byte value) { return value != std::byte{0}; });
      if (found == end) return true;
      wrong = found - parameter;
      return false;
    });
    if (wrong < 0) continue;
    return RunError("rank " + std::to_string(rank_) + ": destination parameter " + record.name,
                    "byte " + std::to_string(wrong) + " is not zero, as its layout declares it",
                    "verify the plan; if it passes, report this");
  }
  return {};
}

}  // namespace reshard
