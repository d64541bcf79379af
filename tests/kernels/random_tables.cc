#include "tests/kernels/random_tables.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace reshard {
namespace {

std::int64_t Draw(std::int64_t low, std::int64_t high, std::mt19937_64& random) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

bool OneIn(std::int64_t chance, std::mt19937_64& random) { return Draw(1, chance, random) == 1; }

// A gap between neighbours: often none, so that dims continue each other; else of any alignment.
std::int64_t DrawGap(std::mt19937_64& random) {
  switch (Draw(0, 3, random)) {
    case 0:
      return Draw(1, 9, random);
    case 1:
      return 16 * Draw(1, 4, random);
    default:
      return 0;
  }
}

// Strides for `counts`, nested in a random order around pieces of `piece` bytes, so that no two
// coincide. Returns the bytes all of them span.
std::int64_t DrawStrides(std::int64_t piece, std::span<const std::int64_t> counts,
                         std::vector<std::int64_t>& strides, std::mt19937_64& random) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Row-major half of the time, as most layouts are.
  std::reverse(order.begin(), order.end());
  if (OneIn(2, random)) std::shuffle(order.begin(), order.end(), random);
  strides.assign(counts.size(), 0);
  std::int64_t span = piece;
  for (const std::size_t dim : order) {
    strides[dim] = span + DrawGap(random);
    span = (counts[dim] - 1) * strides[dim] + span;
  }
  return span;
}

std::int64_t DrawRun(std::mt19937_64& random) {
  switch (Draw(0, 4, random)) {
    case 0:
      return Draw(1, 40, random);
    case 1:
      return std::int64_t{1} << Draw(0, 10, random);
    case 2:
      return 16 * Draw(1, 700, random);
    case 3:
      return Draw(1000, 10000, random);
    default:
      return Draw(1, 8, random) * Draw(1, 8, random);
  }
}

}  // namespace

RandomCopies DrawCopies(int rows, std::mt19937_64& random) {
  const std::int64_t half = Draw(1, 3, random);
  RandomCopies drawn;
  drawn.base_bytes.assign(static_cast<std::size_t>(2 * half), 0);
  for (int row = 0; row < rows; ++row) {
    const bool is_huge = OneIn(40, random);
    const std::int64_t run = is_huge ? Draw(1 << 20, 1 << 21, random) : DrawRun(random);
    std::vector<std::int64_t> counts(
        static_cast<std::size_t>(is_huge ? Draw(0, 1, random) : Draw(0, 6, random)));
    // Up to some ten KiB in all.
    std::int64_t left = std::max<std::int64_t>(1, 60'000 / run);
    for (std::int64_t& count : counts) {
      count = Draw(1, std::min<std::int64_t>(left, 40), random);
      left = std::max<std::int64_t>(1, left / count);
    }
    std::vector<std::int64_t> source_strides;
    std::vector<std::int64_t> destination_strides;
    const std::int64_t source_span = DrawStrides(run, counts, source_strides, random);
    const std::int64_t destination_span = DrawStrides(run, counts, destination_strides, random);
    std::vector<StridedDim> dims;
    for (std::size_t d = 0; d < counts.size(); ++d) {
      dims.push_back({counts[d], source_strides[d], destination_strides[d]});
    }
    const auto source = static_cast<BaseIndex>(Draw(0, half - 1, random));
    const auto destination = static_cast<BaseIndex>(Draw(half, 2 * half - 1, random));
    std::int64_t& source_bytes = drawn.base_bytes[static_cast<std::size_t>(source)];
    std::int64_t& destination_bytes = drawn.base_bytes[static_cast<std::size_t>(destination)];
    const std::int64_t source_offset = Draw(0, source_bytes, random);
    const std::int64_t destination_offset = destination_bytes + DrawGap(random);
    if (OneIn(4, random)) {
      for (StridedDim& dim : dims) dim.source_stride = dim.destination_stride;
      drawn.table.Add(ZeroFill(destination, destination_offset, run, dims));
    } else {
      drawn.table.Add({source, destination, source_offset, destination_offset, run, dims});
    }
    source_bytes = std::max(source_bytes, source_offset + source_span);
    destination_bytes = destination_offset + destination_span;
  }
  return drawn;
}

RandomDigests DrawDigests(int boxes, std::mt19937_64& random) {
  RandomDigests drawn;
  drawn.base_bytes.assign(static_cast<std::size_t>(Draw(1, 3, random)), 0);
  for (int box = 0; box < boxes; ++box) {
    const auto element = static_cast<std::int32_t>(Draw(1, 8, random));
    std::vector<std::int64_t> counts(static_cast<std::size_t>(Draw(0, 5, random)));
    std::int64_t left = OneIn(20, random) ? 50'000 : 2'000;
    for (std::int64_t& count : counts) {
      count = OneIn(50, random) ? 0 : Draw(1, left, random);
      left = std::max<std::int64_t>(1, left / std::max<std::int64_t>(count, 1));
    }
    std::vector<std::int64_t> byte_strides;
    std::vector<std::int64_t> index_strides;
    const std::int64_t span = DrawStrides(element, counts, byte_strides, random);
    DrawStrides(1, counts, index_strides, random);
    std::vector<DigestDim> dims;
    for (std::size_t d = 0; d < counts.size(); ++d) {
      dims.push_back({counts[d], index_strides[d], byte_strides[d]});
    }
    const auto base = static_cast<BaseIndex>(
        Draw(0, static_cast<std::int64_t>(drawn.base_bytes.size()) - 1, random));
    std::int64_t& base_bytes = drawn.base_bytes[static_cast<std::size_t>(base)];
    const std::int64_t offset = Draw(0, base_bytes, random);
    drawn.table.Add({static_cast<std::int32_t>(Draw(0, 1000, random)), element,
                     Draw(0, std::int64_t{1} << 40, random), base, offset, dims});
    base_bytes = std::max(base_bytes, offset + std::max<std::int64_t>(span, 0));
  }
  return drawn;
}

SkewedBuffer::SkewedBuffer(std::int64_t bytes, std::size_t skew, std::mt19937_64& random)
    : skew_(skew), storage_(static_cast<std::size_t>(bytes) + skew) {
  for (std::size_t begin = 0; begin < storage_.size(); begin += sizeof(std::uint64_t)) {
    const std::uint64_t value = random();
    std::memcpy(storage_.data() + begin, &value, std::min(sizeof(value), storage_.size() - begin));
  }
}

std::vector<SkewedBuffer> DrawBuffers(std::span<const std::int64_t> base_bytes,
                                      std::mt19937_64& random) {
  std::vector<SkewedBuffer> buffers;
  for (const std::int64_t bytes : base_bytes) {
    const std::int64_t skew = OneIn(2, random) ? 0 : Draw(0, 15, random);
    buffers.emplace_back(bytes, static_cast<std::size_t>(skew), random);
  }
  return buffers;
}

std::vector<std::byte*> BasesOf(std::vector<SkewedBuffer>& buffers) {
  std::vector<std::byte*> bases;
  for (SkewedBuffer& buffer : buffers) bases.push_back(buffer.data());
  return bases;
}

void CopyByteByByte(const CopyTable& table, std::span<std::byte* const> bases) {
  for (std::int64_t row = 0; row < table.size(); ++row) {
    const StridedCopy copy = table[row];
    std::vector<std::int64_t> index(copy.dims.size(), 0);
    for (bool more = true; more;) {
      const std::byte* source =
          bases[static_cast<std::size_t>(copy.source_base)] + copy.source_offset;
      std::byte* destination =
          bases[static_cast<std::size_t>(copy.destination_base)] + copy.destination_offset;
      for (std::size_t d = 0; d < index.size(); ++d) {
        source += index[d] * copy.dims[d].source_stride;
        destination += index[d] * copy.dims[d].destination_stride;
      }
      for (std::int64_t b = 0; b < copy.run; ++b) {
        destination[b] = copy.kind == CopyKind::kZero ? std::byte{0} : source[b];
      }
      more = false;
      for (std::size_t d = index.size(); d-- > 0 && !more;) {
        more = ++index[d] < copy.dims[d].count;
        if (!more) index[d] = 0;
      }
    }
  }
}

}  // namespace reshard
