#include "runtime/trial_values.h"

#include <algorithm>
#include <map>
#include <string>

#include "foundation/checked_arithmetic.h"
#include "kernels/conversion_element.h"
#include "kernels/mixing.h"
#include "runtime/conversion_lowering.h"

namespace reshard {
namespace {

constexpr std::uint32_t kUnknown = 0xFFFFFFFF;  // no magnitude: those have no sign bit

// A number of either sign from 2^-27 to 2^6, in F16 from 2^-12: blocks have both large and small
// ones, no cast of it saturates in F8, and -exp of it stays in the range of F32 and BF16.
std::uint32_t ModerateNumber(DType dtype, std::uint64_t hash) {
  const auto exponent = [hash](std::uint64_t least, std::uint64_t count) {
    return (hash >> 32U) % count + least;
  };
  switch (dtype) {
    case DType::kF32:
      return static_cast<std::uint32_t>((hash & 0x807FFFFFU) | exponent(100, 33) << 23U);
    case DType::kF16:
      return static_cast<std::uint32_t>((hash & 0x83FFU) | exponent(3, 18) << 10U);
    default:
      return static_cast<std::uint32_t>((hash & 0x807FU) | exponent(100, 33) << 7U);
  }
}

std::int64_t BlocksAlong(const ConvertedTensor& converted, std::size_t dim) {
  return CeilDivide(converted.origin_shape[dim], converted.block[dim]);
}

std::int64_t BlocksOf(const ConvertedTensor& converted) {
  std::int64_t blocks = 1;
  for (std::size_t d = 0; d < converted.block.size(); ++d) blocks *= BlocksAlong(converted, d);
  return blocks;
}

// The row-major number of the block that element `index` of the origin is in.
std::int64_t BlockOf(const ConvertedTensor& converted, std::int64_t index) {
  std::int64_t block = 0;
  std::int64_t blocks = 1;  // of the dims behind
  for (std::size_t d = converted.origin_shape.size(); d-- > 0;) {
    block += index % converted.origin_shape[d] / converted.block[d] * blocks;
    index /= converted.origin_shape[d];
    blocks *= BlocksAlong(converted, d);
  }
  return block;
}

}  // namespace

std::uint64_t TrialValue(std::uint64_t refit, TensorIndex tensor, std::int64_t index) {
  const std::uint64_t key = Mix64(refit * kGoldenGamma + static_cast<std::uint64_t>(tensor));
  return Mix64(key + static_cast<std::uint64_t>(index) * kGoldenGamma);
}

TrialOrigins::TrialOrigins(const JobRecords& job)
    : converted_(job.tensors.size(), nullptr), keys_(job.tensors.size(), -1) {
  std::map<std::string, TensorIndex> first;  // tensor of each origin
  for (const ConvertedTensor& converted : job.converted) {
    converted_[static_cast<std::size_t>(converted.tensor)] = &converted;
    first.emplace(converted.origin, converted.tensor);
  }
  for (std::size_t t = 0; t < job.tensors.size(); ++t) {
    const std::string& name =
        converted_[t] == nullptr ? job.tensors[t].name : converted_[t]->origin;
    const auto found = first.find(name);
    if (found == first.end()) continue;
    if (static_cast<TensorIndex>(t) < found->second) found->second = static_cast<TensorIndex>(t);
    keys_[t] = found->second;
  }
}

TrialTensor::TrialTensor(const JobRecords& job, const TrialOrigins& origins, std::uint64_t refit,
                         TensorIndex tensor)
    : refit_(refit),
      tensor_(tensor),
      key_(origins.Key(tensor)),
      conversion_(origins.Conversion(tensor)),
      dtype_(job.tensors[static_cast<std::size_t>(tensor)].dtype) {
  origin_dtype_ = conversion_ == nullptr ? dtype_ : conversion_->origin_dtype;
}

std::uint64_t TrialTensor::OriginValue(std::int64_t index) const {
  if (!key_) return TrialValue(refit_, tensor_, index);
  return ModerateNumber(origin_dtype_, TrialValue(refit_, *key_, index));
}

std::uint64_t TrialTensor::Value(std::int64_t index) {
  if (conversion_ == nullptr) return OriginValue(index);
  if (IsOfScales(conversion_->kind)) {
    return ScaleOfBlock(RuleOf(conversion_->kind), Amax(index)).stored;
  }
  const float value =
      NumberOf(*ElementOf(origin_dtype_), static_cast<std::uint32_t>(OriginValue(index)));
  if (IsOfBlocks(conversion_->kind)) {
    return BlockElement(
        value, ScaleOfBlock(RuleOf(conversion_->kind), Amax(BlockOf(*conversion_, index))));
  }
  return BitsOf(*ElementOf(dtype_), ApplyToNumber(FunctionOf(conversion_->kind), value));
}

std::uint32_t TrialTensor::Amax(std::int64_t block) {
  if (amax_.empty()) amax_.assign(static_cast<std::size_t>(BlocksOf(*conversion_)), kUnknown);
  std::uint32_t& known = amax_[static_cast<std::size_t>(block)];
  if (known != kUnknown) return known;
  // The block's box in the origin, walked element by element.
  const std::size_t dims = conversion_->block.size();
  std::vector<std::int64_t> begin(dims);
  std::vector<std::int64_t> end(dims);
  for (std::size_t d = dims; d-- > 0;) {
    begin[d] = block % BlocksAlong(*conversion_, d) * conversion_->block[d];
    end[d] = std::min(begin[d] + conversion_->block[d], conversion_->origin_shape[d]);
    block /= BlocksAlong(*conversion_, d);
  }
  std::vector<std::int64_t> at = begin;
  std::uint32_t amax = 0;
  for (bool more = true; more;) {
    std::int64_t index = 0;
    for (std::size_t d = 0; d < dims; ++d) index = index * conversion_->origin_shape[d] + at[d];
    amax = std::max(amax, MagnitudeBits(NumberOf(*ElementOf(origin_dtype_),
                                                 static_cast<std::uint32_t>(OriginValue(index)))));
    more = false;
    for (std::size_t d = dims; d-- > 0 && !more;) {
      more = ++at[d] < end[d];
      if (!more) at[d] = begin[d];
    }
  }
  known = amax;
  return amax;
}

}  // namespace reshard
