#include "kernels/conversion.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

constexpr std::uint32_t kUnknown = 0xFFFFFFFF;  // no magnitude: those have no sign bit

std::uint32_t LoadBits(const std::byte* data, ConversionElement element) {
  if (BytesOf(element) == 2) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, data, sizeof(bits));
    return bits;
  }
  std::uint32_t bits = 0;
  std::memcpy(&bits, data, sizeof(bits));
  return bits;
}

// Elements of dim `dim` of a buffer: source elements, or blocks of them.
std::int64_t Count(const ConvertedBuffer& buffer, std::size_t dim) {
  const ConversionDim& d = buffer.dims[dim];
  return buffer.function == ConversionFunction::kBlockScales ? CeilDivide(d.extent, d.block)
                                                             : d.extent;
}

// Reads one converted buffer. Remembers the largest magnitudes of blocks it has seen.
class Reader {
 public:
  Reader(const ConvertedBuffer& buffer, std::span<std::byte* const> bases)
      : buffer_(buffer),
        source_(bases[static_cast<std::size_t>(buffer.base)] + buffer.offset),
        bytes_(BytesOf(buffer.to)),
        at_(buffer.dims.size(), 0),
        amax_(static_cast<std::size_t>(BlockCount(buffer)), kUnknown) {}

  // Bytes [begin, begin + count) of the buffer to `destination`.
  void Read(std::int64_t begin, std::int64_t count, std::byte* destination) {
    Seek(begin / bytes_);
    std::int64_t skipped = begin % bytes_;
    while (count > 0) {
      const std::uint32_t bits = Element();
      const std::int64_t part = std::min(count, bytes_ - skipped);
      std::memcpy(destination, reinterpret_cast<const std::byte*>(&bits) + skipped,
                  static_cast<std::size_t>(part));
      destination += part;
      count -= part;
      skipped = 0;
      Advance();
    }
  }

 private:
  void Seek(std::int64_t element) {
    for (std::size_t d = at_.size(); d-- > 0;) {
      at_[d] = element % Count(buffer_, d);
      element /= Count(buffer_, d);
    }
  }
  void Advance() {
    for (std::size_t d = at_.size(); d-- > 0;) {
      if (++at_[d] < Count(buffer_, d)) return;
      at_[d] = 0;
    }
  }

  // The bits of the element at at_.
  std::uint32_t Element() {
    if (buffer_.function == ConversionFunction::kBlockScales) {
      return ScaleOfBlock(buffer_.rule, Amax(at_, 1)).stored;
    }
    const float value = Number(at_);
    if (buffer_.function == ConversionFunction::kBlockValues) {
      return BlockElement(value, ScaleOfBlock(buffer_.rule, Amax(at_, 0)));
    }
    return BitsOf(buffer_.to, ApplyToNumber(buffer_.function, value));
  }

  float Number(std::span<const std::int64_t> at) const {
    const std::byte* data = source_;
    for (std::size_t d = 0; d < at.size(); ++d) data += at[d] * buffer_.dims[d].stride;
    return NumberOf(buffer_.from, LoadBits(data, buffer_.from));
  }

  // The largest magnitude in the block at `at`: of block coordinates where `is_block`, else of the
  // elements in it.
  std::uint32_t Amax(std::span<const std::int64_t> at, int is_block) {
    std::int64_t number = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const ConversionDim& dim = buffer_.dims[d];
      number =
          number * CeilDivide(dim.extent, dim.block) + (is_block != 0 ? at[d] : at[d] / dim.block);
    }
    std::uint32_t& known = amax_[static_cast<std::size_t>(number)];
    if (known == kUnknown) known = AmaxOf(number);
    return known;
  }

  std::uint32_t AmaxOf(std::int64_t number) const {
    const std::byte* first = source_;
    std::vector<std::int64_t> counts(buffer_.dims.size());
    for (std::size_t d = buffer_.dims.size(); d-- > 0;) {
      const ConversionDim& dim = buffer_.dims[d];
      const std::int64_t blocks = CeilDivide(dim.extent, dim.block);
      const std::int64_t begin = number % blocks * dim.block;
      number /= blocks;
      first += begin * dim.stride;
      counts[d] = std::min(dim.block, dim.extent - begin);
    }
    return AmaxOfBox(first, counts, 0);
  }

  std::uint32_t AmaxOfBox(const std::byte* data, std::span<const std::int64_t> counts,
                          std::size_t dim) const {
    if (dim == counts.size()) {
      return MagnitudeBits(NumberOf(buffer_.from, LoadBits(data, buffer_.from)));
    }
    std::uint32_t amax = 0;
    for (std::int64_t i = 0; i < counts[dim]; ++i) {
      amax = std::max(amax, AmaxOfBox(data + i * buffer_.dims[dim].stride, counts, dim + 1));
    }
    return amax;
  }

  ConvertedBuffer buffer_;
  const std::byte* source_;
  std::int64_t bytes_;
  std::vector<std::int64_t> at_;
  std::vector<std::uint32_t> amax_;  // of each block
};

// Recursion over the dims of a copy, outermost first.
void ReadBox(Reader& reader, std::int64_t source, std::byte* destination, std::int64_t run,
             std::span<const StridedDim> dims) {
  if (dims.empty()) return reader.Read(source, run, destination);
  for (std::int64_t i = 0; i < dims[0].count; ++i) {
    ReadBox(reader, source + i * dims[0].source_stride,
            destination + i * dims[0].destination_stride, run, dims.subspan(1));
  }
}

bool HasFittingElements(const ConvertedBuffer& buffer) {
  const auto is_number = [](ConversionElement element) {
    return element == ConversionElement::kF32 || element == ConversionElement::kBF16 ||
           element == ConversionElement::kF16;
  };
  if (!is_number(buffer.from)) return false;
  switch (buffer.function) {
    case ConversionFunction::kBlockValues:
      return buffer.to == ConversionElement::kF8E4M3;
    case ConversionFunction::kBlockScales:
      return buffer.to == (buffer.rule == BlockScaleRule::kAmax ? ConversionElement::kF32
                                                                : ConversionElement::kE8M0);
    case ConversionFunction::kCast:
    case ConversionFunction::kNegativeExponential:
    case ConversionFunction::kPlusOne:
    case ConversionFunction::kMinusOne:
      return buffer.to != ConversionElement::kE8M0;
  }
  return false;
}

// What is wrong with `buffer`, or nullptr.
const char* FaultOf(const ConvertedBuffer& buffer, std::span<const std::int64_t> base_bytes) {
  if (!HasFittingElements(buffer)) return "has element types its conversion does not have";
  const std::int64_t from_bytes = BytesOf(buffer.from);
  std::optional<std::int64_t> end = CheckedAdd(buffer.offset, from_bytes);
  std::optional<std::int64_t> elements = 4;  // bytes of the largest element
  bool is_aligned = buffer.offset % from_bytes == 0;
  for (const ConversionDim& dim : buffer.dims) {
    // A stride of 0 would let a few bytes stand for elements without bound.
    if (dim.extent < 1 || dim.stride < (dim.extent > 1 ? 1 : 0) || dim.block < 1) {
      return "has an extent, stride or block that is none";
    }
    is_aligned = is_aligned && dim.stride % from_bytes == 0;
    const std::optional<std::int64_t> reach = CheckedMultiply(dim.extent - 1, dim.stride);
    if (!end || !reach || !elements) return "does not fit 64 bits";
    end = CheckedAdd(*end, *reach);
    elements = CheckedMultiply(*elements, dim.extent);
  }
  if (!end || !elements) return "does not fit 64 bits";
  if (!is_aligned) return "has elements that are not aligned";
  const bool is_inside =
      buffer.base >= 0 && static_cast<std::size_t>(buffer.base) < base_bytes.size() &&
      buffer.offset >= 0 && *end <= base_bytes[static_cast<std::size_t>(buffer.base)];
  if (!is_inside) return "reads outside of its source";
  const std::int64_t source_bytes = base_bytes[static_cast<std::size_t>(buffer.base)];
  return *elements / 4 > source_bytes / from_bytes ? "has more elements than its source" : nullptr;
}

}  // namespace

void ConvertedBuffers::Add(const ConvertedBuffer& buffer) {
  rows_.push_back({buffer.offset, static_cast<std::int64_t>(dims_.size()),
                   static_cast<std::int32_t>(buffer.dims.size()), buffer.base, buffer.function,
                   buffer.rule, buffer.from, buffer.to});
  dims_.insert(dims_.end(), buffer.dims.begin(), buffer.dims.end());
}

ConvertedBuffer ConvertedBuffers::operator[](std::int64_t index) const {
  const Row& row = rows_[static_cast<std::size_t>(index)];
  return {row.function,
          row.rule,
          row.from,
          row.to,
          row.base,
          row.offset,
          std::span(dims_).subspan(static_cast<std::size_t>(row.first_dim),
                                   static_cast<std::size_t>(row.dim_count))};
}

std::int64_t ConvertedBytes(const ConvertedBuffer& buffer) {
  std::int64_t bytes = BytesOf(buffer.to);
  for (std::size_t d = 0; d < buffer.dims.size(); ++d) bytes *= Count(buffer, d);
  return bytes;
}

std::int64_t BlockCount(const ConvertedBuffer& buffer) {
  if (!IsOfBlocks(buffer.function)) return 0;
  std::int64_t blocks = 1;
  for (const ConversionDim& dim : buffer.dims) blocks *= CeilDivide(dim.extent, dim.block);
  return blocks;
}

Result<void> CheckBuffers(const ConvertedBuffers& buffers,
                          std::span<const std::int64_t> base_bytes) {
  for (std::int64_t i = 0; i < buffers.size(); ++i) {
    if (const char* fault = FaultOf(buffers[i], base_bytes)) {
      return InputError("converted buffer " + std::to_string(i), fault);
    }
  }
  return {};
}

Result<void> CheckConversions(const CopyTable& copies, const ConvertedBuffers& buffers,
                              std::span<const std::int64_t> base_bytes) {
  // One end at a time, the other of no extent: bases of the two ends are numbered apart.
  CopyTable reads;
  CopyTable writes;
  for (std::int64_t i = 0; i < copies.size(); ++i) {
    const StridedCopy copy = copies[i];
    std::vector<StridedDim> source_dims;
    std::vector<StridedDim> destination_dims;
    for (const StridedDim& dim : copy.dims) {
      source_dims.push_back({dim.count, dim.source_stride, dim.source_stride});
      destination_dims.push_back({dim.count, dim.destination_stride, dim.destination_stride});
    }
    reads.Add({copy.source_base, copy.source_base, copy.source_offset, copy.source_offset, copy.run,
               source_dims});
    writes.Add({copy.destination_base, copy.destination_base, copy.destination_offset,
                copy.destination_offset, copy.run, destination_dims});
  }
  std::vector<std::int64_t> converted_bytes;
  for (std::int64_t i = 0; i < buffers.size(); ++i) {
    converted_bytes.push_back(ConvertedBytes(buffers[i]));
  }
  Result<void> inside = CheckBounds(reads, converted_bytes);
  if (inside) inside = CheckBounds(writes, base_bytes);
  return inside;
}

void RunConversions(const CopyTable& copies, const ConvertedBuffers& buffers,
                    std::span<std::byte* const> bases) {
  std::optional<Reader> reader;
  BaseIndex of_buffer = -1;
  for (std::int64_t i = 0; i < copies.size(); ++i) {
    const StridedCopy copy = copies[i];
    if (copy.source_base != of_buffer) {
      of_buffer = copy.source_base;
      reader.emplace(buffers[of_buffer], bases);
    }
    ReadBox(*reader, copy.source_offset,
            bases[static_cast<std::size_t>(copy.destination_base)] + copy.destination_offset,
            copy.run, copy.dims);
  }
}

}  // namespace reshard
