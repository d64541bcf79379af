#include "runtime/conversion_lowering.h"

#include <optional>
#include <string>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {

std::optional<ConversionElement> ElementOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return ConversionElement::kF32;
    case DType::kBF16:
      return ConversionElement::kBF16;
    case DType::kF16:
      return ConversionElement::kF16;
    case DType::kF8E4M3:
      return ConversionElement::kF8E4M3;
    case DType::kU8:
      return ConversionElement::kE8M0;
    default:
      return std::nullopt;
  }
}

ConversionFunction FunctionOf(ConversionKind kind) {
  switch (kind) {
    case ConversionKind::kCast:
      return ConversionFunction::kCast;
    case ConversionKind::kNegativeExponential:
      return ConversionFunction::kNegativeExponential;
    case ConversionKind::kPlusOne:
      return ConversionFunction::kPlusOne;
    case ConversionKind::kMinusOne:
      return ConversionFunction::kMinusOne;
    default:
      return IsOfScales(kind) ? ConversionFunction::kBlockScales : ConversionFunction::kBlockValues;
  }
}

BlockScaleRule RuleOf(ConversionKind kind) {
  switch (kind) {
    case ConversionKind::kFloorValues:
    case ConversionKind::kFloorScales:
      return BlockScaleRule::kFloor;
    case ConversionKind::kRceilValues:
    case ConversionKind::kRceilScales:
      return BlockScaleRule::kRceil;
    default:
      return BlockScaleRule::kAmax;
  }
}

namespace {

bool IsParameter(ParameterIndex parameter, const RankPart& part) {
  return parameter >= 0 && static_cast<std::size_t>(parameter) < part.source_parameters.size();
}

// The buffer of a conversion; nothing where it is none.
std::optional<ConvertedBuffer> BufferOf(const RankPart& part, const Conversion& conversion,
                                        BaseIndex first_source_base,
                                        std::vector<ConversionDim>& dims) {
  const std::size_t count = conversion.extent.size();
  const bool is_of_blocks = IsOfBlocks(conversion.kind);
  if (!IsParameter(conversion.parameter, part) || !IsParameter(conversion.source, part) ||
      conversion.stride.size() != count || conversion.block.size() != (is_of_blocks ? count : 0)) {
    return std::nullopt;
  }
  const DType from = part.source_parameters[static_cast<std::size_t>(conversion.source)].dtype;
  const DType to = part.source_parameters[static_cast<std::size_t>(conversion.parameter)].dtype;
  const std::optional<ConversionElement> from_element = ElementOf(from);
  const std::optional<ConversionElement> to_element = ElementOf(to);
  if (!from_element || !to_element) return std::nullopt;
  const auto in_bytes = [from](std::int64_t elements) {
    return CheckedMultiply(elements, ElementBytes(from));
  };
  dims.clear();
  for (std::size_t d = 0; d < count; ++d) {
    const std::optional<std::int64_t> stride = in_bytes(conversion.stride[d]);
    if (!stride) return std::nullopt;
    dims.push_back({conversion.extent[d], *stride, is_of_blocks ? conversion.block[d] : 1});
  }
  const std::optional<std::int64_t> offset = in_bytes(conversion.offset);
  if (!offset) return std::nullopt;
  return ConvertedBuffer{FunctionOf(conversion.kind),
                         RuleOf(conversion.kind),
                         *from_element,
                         *to_element,
                         first_source_base + conversion.source,
                         *offset,
                         dims};
}

}  // namespace

Result<ConvertedBuffers> LowerConversions(const RankPart& part, BaseIndex first_source_base,
                                          std::span<const std::int64_t> base_bytes) {
  ConvertedBuffers buffers;
  const auto broken = [&part](std::size_t conversion, const std::string& what) {
    return InputError(
        "rank " + std::to_string(part.rank),
        "conversion " + std::to_string(conversion) + " of its part of the plan " + what,
        "verify the plan");
  };
  std::vector<bool> is_computed(part.source_parameters.size(), false);
  std::vector<ConversionDim> dims;
  for (std::size_t i = 0; i < part.source_conversions.size(); ++i) {
    const Conversion& conversion = part.source_conversions[i];
    const std::optional<ConvertedBuffer> buffer =
        BufferOf(part, conversion, first_source_base, dims);
    if (!buffer) return broken(i, "is none of its parameters");
    is_computed[static_cast<std::size_t>(conversion.parameter)] = true;
    buffers.Add(*buffer);
  }
  if (const Result<void> checked = CheckBuffers(buffers, base_bytes); !checked) {
    return InputError(
        "rank " + std::to_string(part.rank),
        "its part of the plan has a " + checked.error().place + " that " + checked.error().reason,
        "verify the plan");
  }
  for (std::size_t i = 0; i < part.source_conversions.size(); ++i) {
    const Conversion& conversion = part.source_conversions[i];
    if (is_computed[static_cast<std::size_t>(conversion.source)]) {
      return broken(i, "is of a parameter that is computed itself");
    }
    const std::int64_t bytes =
        base_bytes[static_cast<std::size_t>(first_source_base + conversion.parameter)];
    if (ConvertedBytes(buffers[static_cast<std::int64_t>(i)]) != bytes) {
      return broken(i, "has not the size of its parameter");
    }
  }
  return buffers;
}

void SplitConversions(const std::vector<Conversion>& conversions, BaseIndex first_source_base,
                      CopyTable& table, CopyTable& converted) {
  std::vector<BaseIndex> numbers;  // of the buffer of each base, or -1
  for (std::size_t i = 0; i < conversions.size(); ++i) {
    const auto base = static_cast<std::size_t>(first_source_base + conversions[i].parameter);
    if (numbers.size() <= base) numbers.resize(base + 1, -1);
    numbers[base] = static_cast<BaseIndex>(i);
  }
  CopyTable stored;
  for (std::int64_t i = 0; i < table.size(); ++i) {
    StridedCopy copy = table[i];
    const auto base = static_cast<std::size_t>(copy.source_base);
    const BaseIndex number = base < numbers.size() ? numbers[base] : -1;
    if (number >= 0) copy.source_base = number;
    (number >= 0 ? converted : stored).Add(copy);
  }
  if (!converted.empty()) table = std::move(stored);
}

std::vector<std::vector<std::byte>> ComputeParameters(const RankPart& part,
                                                      std::span<std::byte* const> addresses) {
  ConvertedBuffers buffers;
  std::vector<ConversionDim> dims;
  for (const Conversion& conversion : part.source_conversions) {
    buffers.Add(*BufferOf(part, conversion, 0, dims));
  }
  std::vector<std::vector<std::byte>> computed;
  std::vector<std::byte*> bases(addresses.begin(), addresses.end());
  bases.push_back(nullptr);  // of the computed parameter at hand
  for (std::int64_t i = 0; i < buffers.size(); ++i) {
    const std::int64_t bytes = ConvertedBytes(buffers[i]);
    computed.emplace_back(static_cast<std::size_t>(bytes));
    bases.back() = computed.back().data();
    CopyTable whole;
    whole.Add(
        {static_cast<BaseIndex>(i), static_cast<BaseIndex>(bases.size() - 1), 0, 0, bytes, {}});
    RunConversions(whole, buffers, bases);
  }
  return computed;
}

std::vector<std::uint64_t> DigestSources(const DigestTable& table, const RankPart& part,
                                         std::span<std::byte* const> addresses) {
  const std::vector<std::vector<std::byte>> computed = ComputeParameters(part, addresses);
  std::vector<const std::byte*> bases(addresses.begin(), addresses.end());
  for (std::size_t i = 0; i < computed.size(); ++i) {
    bases[static_cast<std::size_t>(part.source_conversions[i].parameter)] = computed[i].data();
  }
  return RunDigests(table, bases);
}

std::vector<std::byte> ConvertTensor(const ConvertedTensor& converted, DType to,
                                     std::span<const std::byte> origin) {
  std::vector<ConversionDim> dims;
  std::int64_t stride = ElementBytes(converted.origin_dtype);
  for (std::size_t d = converted.origin_shape.size(); d-- > 0;) {
    const std::int64_t block = converted.block.empty() ? 1 : converted.block[d];
    dims.insert(dims.begin(), {converted.origin_shape[d], stride, block});
    stride *= converted.origin_shape[d];
  }
  if (stride == 0) return {};  // a tensor without elements
  const ConvertedBuffer buffer = {FunctionOf(converted.kind),
                                  RuleOf(converted.kind),
                                  *ElementOf(converted.origin_dtype),
                                  *ElementOf(to),
                                  0,
                                  0,
                                  dims};
  ConvertedBuffers buffers;
  buffers.Add(buffer);
  std::vector<std::byte> bytes(static_cast<std::size_t>(ConvertedBytes(buffer)));
  CopyTable whole;
  whole.Add({0, 1, 0, 0, ConvertedBytes(buffer), {}});
  // The twin reads base 0 and writes base 1 alone.
  std::byte* const bases[] = {const_cast<std::byte*>(origin.data()), bytes.data()};
  RunConversions(whole, buffers, bases);
  return bytes;
}

OriginRegion OriginOf(const Region& region, const Conversion& conversion) {
  OriginRegion origin;
  origin.offset = conversion.offset;
  origin.begin.assign(region.begin.begin(), region.begin.end());
  if (!IsOfBlocks(conversion.kind)) {
    origin.offset += region.offset;
    origin.extent.assign(region.extent.begin(), region.extent.end());
    origin.stride.assign(region.stride.begin(), region.stride.end());
    return origin;
  }
  for (std::size_t d = 0; IsOfScales(conversion.kind) && d < origin.begin.size(); ++d) {
    origin.begin[d] *= conversion.block[d];
  }
  origin.extent = conversion.extent;
  origin.stride = conversion.stride;
  return origin;
}

}  // namespace reshard
