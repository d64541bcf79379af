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
#include "schedules/dtype.h"

namespace reshard {
namespace {

// A region and the tensor it is cut from as runs of elements: those that follow each other in both.
// Calls `visit(byte in the tensor, byte in the parameter, bytes)` run by run while it returns true.
template <typename Visit>
class RunWalk {
 public:
  RunWalk(const Region& region, const Tensor& tensor, Visit visit)
      : region_(region),
        tensor_strides_(tensor.shape.size(), 1),
        element_bytes_(ElementBytes(tensor.dtype)),
        visit_(std::move(visit)) {
    for (std::size_t d = tensor.shape.size(); d-- > 1;) {
      tensor_strides_[d - 1] = tensor_strides_[d] * tensor.shape[d];
    }
    // The last dim is one run where its elements follow each other in the parameter, too.
    dims_ = tensor.shape.size();
    if (dims_ > 0 && region.stride[dims_ - 1] == 1) run_ = region.extent[--dims_];
  }

  bool Walk() {
    std::int64_t index = 0;
    for (std::size_t d = 0; d < tensor_strides_.size(); ++d) {
      index += region_.begin[d] * tensor_strides_[d];
    }
    return WalkDim(0, index, region_.offset);
  }

 private:
  bool WalkDim(std::size_t dim, std::int64_t index, std::int64_t position) {
    if (dim == dims_) {
      return visit_(index * element_bytes_, position * element_bytes_, run_ * element_bytes_);
    }
    for (std::int64_t i = 0; i < region_.extent[dim]; ++i) {
      if (!WalkDim(dim + 1, index, position)) return false;
      index += tensor_strides_[dim];
      position += region_.stride[dim];
    }
    return true;
  }

  Region region_;
  std::vector<std::int64_t> tensor_strides_;  // row-major
  std::int64_t element_bytes_;
  std::size_t dims_ = 0;  // outside of a run
  std::int64_t run_ = 1;
  Visit visit_;
};

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
}

void WeightShards::Fill(TensorIndex tensor, std::span<const std::byte> bytes) {
  if (source_.layout == nullptr) return;
  const RegionTable& regions = source_.layout->regions;
  const auto [first, end] = RegionsOf(regions, tensor);
  for (std::int64_t number = first; number < end; ++number) {
    const Region region = regions[number];
    std::byte* const parameter =
        source_.parameters[static_cast<std::size_t>(region.parameter)].data();
    RunWalk(region, job_->tensors[static_cast<std::size_t>(tensor)],
            [&](std::int64_t from, std::int64_t to, std::int64_t run) {
              std::memcpy(parameter + to, bytes.data() + from, static_cast<std::size_t>(run));
              return true;
            })
        .Walk();
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
    std::byte* const parameter =
        source_.parameters[static_cast<std::size_t>(conversion->source)].data();
    RunWalk({tensor.tensor, conversion->source, origin.offset, origin.begin, origin.extent,
             origin.stride},
            Tensor{tensor.origin, tensor.origin_dtype, tensor.origin_shape},
            [&](std::int64_t from, std::int64_t to, std::int64_t run) {
              std::memcpy(parameter + to, bytes.data() + from, static_cast<std::size_t>(run));
              return true;
            })
        .Walk();
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
    RunWalk(region, record, [&](std::int64_t from, std::int64_t to, std::int64_t run) {
      const std::byte* const held = parameter + to;
      const std::byte* const right = bytes.data() + from;
      if (std::memcmp(held, right, static_cast<std::size_t>(run)) == 0) return true;
      wrong = to + (std::mismatch(held, held + run, right).first - held);
      return false;
    }).Walk();
    if (wrong < 0) continue;
    return RunError("rank " + std::to_string(rank_) + ": destination parameter " +
                        destination_.layout->parameters[p].name,
                    "byte " + std::to_string(wrong) + " is not that of tensor " + record.name,
                    "verify the plan; if it passes, report this");
  }
  return {};
}

}  // namespace reshard
