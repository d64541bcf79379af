#include "kernels/cuda/copy_kernels.h"
#include "kernels/mixing.h"

#ifdef __CUDACC__
#include "kernels/cuda/device_launch.cuh"
#else
#include "kernels/cuda/host_launch.h"
#endif

namespace reshard {
namespace {

// A warp takes a tile, its lanes the units in it. Warps do not meet: no shared memory, no barrier.
constexpr unsigned kLanes = 32;
constexpr unsigned kBlockThreads = 128;
// Beyond this a block takes several rounds of tiles; far more than any device runs at a time.
constexpr std::int64_t kMaxBlocks = 1 << 16;
// Loads that a lane has under way before it stores the first.
constexpr unsigned kBatch = 4;

// What a lane loads and stores at once. Memory of any type is accessed through them.
template <typename Value>
struct __attribute__((may_alias)) Word {
  Value value;
};
struct alignas(16) TwoValues {
  std::uint64_t low;
  std::uint64_t high;
};
using Word1 = Word<std::uint8_t>;
using Word2 = Word<std::uint16_t>;
using Word4 = Word<std::uint32_t>;
using Word8 = Word<std::uint64_t>;
using Word16 = Word<TwoValues>;

// ---- Finding one's place ---------------------------------------------------------------------

struct Tables {
  const TableTile* tiles;
  std::int64_t tile_count;
  std::byte* const* bases;
};

__device__ inline unsigned Lane() { return threadIdx.x % kLanes; }
__device__ inline std::int64_t Warp() {
  return (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
}
__device__ inline std::int64_t WarpCount() { return std::int64_t{gridDim.x} * blockDim.x / kLanes; }

// Division of 32-bit numbers takes a fraction of the time of 64-bit ones.
__device__ inline std::uint64_t Divide(std::uint64_t dividend, std::uint64_t divisor) {
  if (((dividend | divisor) >> 32) == 0) {
    return static_cast<std::uint32_t>(dividend) / static_cast<std::uint32_t>(divisor);
  }
  return dividend / divisor;
}

// Calls visit(dim, index in it) for the digits of `index` in the mixed radix of the dims' counts,
// innermost dim first; digits that are zero may be left out.
template <typename Dim, typename Visit>
__device__ inline void ForEachDigit(std::uint64_t index, const Dim* dims, std::int32_t dim_count,
                                    const Visit& visit) {
  for (std::int32_t d = dim_count - 1; d >= 0 && index != 0; --d) {
    const std::uint64_t rest =
        d == 0 ? 0 : Divide(index, static_cast<std::uint64_t>(dims[d].count));
    visit(dims[d],
          static_cast<std::int64_t>(index - rest * static_cast<std::uint64_t>(dims[d].count)));
    index = rest;
  }
}

// ---- Copies ----------------------------------------------------------------------------------

// One row with its ends as addresses.
struct Ends {
  const std::byte* source;
  std::byte* destination;
  std::int64_t run;
  const StridedDim* dims;
  std::int32_t dim_count;
  CopyKind kind;
};

// What is stored for a word: what stands at `source`, or zero.
template <CopyKind kKind, typename AnyWord>
__device__ inline AnyWord Load(const AnyWord* source) {
  if constexpr (kKind == CopyKind::kZero) return AnyWord{};
  return *source;
}

__device__ inline std::uint64_t AddressOf(const std::byte* data) {
  return reinterpret_cast<std::uint64_t>(data);
}

// The largest power of two up to 16 that divides `bits`.
__device__ inline unsigned Grain(std::uint64_t bits) {
  const std::uint64_t low = (bits | 16) & (0 - (bits | 16));
  return static_cast<unsigned>(low);
}

// The two ends of run `index` of a row.
__device__ inline void MoveToRun(const Ends& row, std::uint64_t index, const std::byte*& source,
                                 std::byte*& destination) {
  source = row.source;
  destination = row.destination;
  ForEachDigit(index, row.dims, row.dim_count, [&](const StridedDim& dim, std::int64_t digit) {
    source += digit * dim.source_stride;
    destination += digit * dim.destination_stride;
  });
}

// Short runs: the lanes share out the words of all runs in the tile. Precondition: every run begins
// at a multiple of the word's size on both ends and consists of whole words, fewer than 2^31.
template <CopyKind kKind, typename AnyWord>
__device__ void CopyShortRuns(const Ends& row, const TableTile& tile) {
  const auto words_per_run = static_cast<std::uint32_t>(row.run / std::int64_t{sizeof(AnyWord)});
  const auto words = static_cast<std::uint32_t>(tile.count / std::int32_t{sizeof(AnyWord)});
  const std::uint64_t first_word = static_cast<std::uint64_t>(tile.begin) / sizeof(AnyWord);
  const std::uint64_t first_run = Divide(first_word, words_per_run);
  const auto skipped = static_cast<std::uint32_t>(first_word - first_run * words_per_run);
  for (std::uint32_t word = Lane(); word < words; word += kLanes) {
    const std::uint32_t run = (skipped + word) / words_per_run;
    const std::uint32_t position = skipped + word - run * words_per_run;
    const std::byte* source;
    std::byte* destination;
    MoveToRun(row, first_run + run, source, destination);
    reinterpret_cast<AnyWord*>(destination)[position] =
        Load<kKind>(reinterpret_cast<const AnyWord*>(source) + position);
  }
}

// Contiguous bytes of which source and destination are equally far from a multiple of the word's
// size: bytes up to the first such multiple, words, bytes after the last.
template <CopyKind kKind, typename AnyWord>
__device__ void CopySegment(const std::byte* source, std::byte* destination, std::uint32_t bytes) {
  const unsigned lane = Lane();
  const auto to_boundary =
      static_cast<std::uint32_t>((0 - AddressOf(destination)) % sizeof(AnyWord));
  const std::uint32_t head = to_boundary < bytes ? to_boundary : bytes;
  const std::uint32_t words = (bytes - head) / sizeof(AnyWord);
  const std::uint32_t tail = head + words * std::uint32_t{sizeof(AnyWord)};
  static_assert(sizeof(AnyWord) <= kLanes);
  if (lane < head) destination[lane] = Load<kKind>(source + lane);
  if (lane < bytes - tail) destination[tail + lane] = Load<kKind>(source + tail + lane);
  const auto* from = reinterpret_cast<const AnyWord*>(source + head);
  auto* to = reinterpret_cast<AnyWord*>(destination + head);
  std::uint32_t word = lane;
  for (; word + (kBatch - 1) * kLanes < words; word += kBatch * kLanes) {
    AnyWord values[kBatch];
    for (std::uint32_t k = 0; k < kBatch; ++k) values[k] = Load<kKind>(from + word + k * kLanes);
    for (std::uint32_t k = 0; k < kBatch; ++k) to[word + k * kLanes] = values[k];
  }
  for (; word < words; word += kLanes) to[word] = Load<kKind>(from + word);
}

template <CopyKind kKind>
__device__ inline void CopyAnySegment(const std::byte* source, std::byte* destination,
                                      std::uint32_t bytes) {
  switch (Grain(AddressOf(source) - AddressOf(destination))) {
    case 16:
      return CopySegment<kKind, Word16>(source, destination, bytes);
    case 8:
      return CopySegment<kKind, Word8>(source, destination, bytes);
    case 4:
      return CopySegment<kKind, Word4>(source, destination, bytes);
    case 2:
      return CopySegment<kKind, Word2>(source, destination, bytes);
    default:
      return CopySegment<kKind, Word1>(source, destination, bytes);
  }
}

// Long runs: all lanes on one run after the other.
template <CopyKind kKind>
__device__ inline void CopyLongRuns(const Ends& row, const TableTile& tile) {
  const auto run_bytes = static_cast<std::uint64_t>(row.run);
  std::uint64_t run = Divide(static_cast<std::uint64_t>(tile.begin), run_bytes);
  std::uint64_t position = static_cast<std::uint64_t>(tile.begin) - run * run_bytes;
  for (auto left = static_cast<std::uint64_t>(tile.count); left > 0; ++run) {
    const std::uint64_t in_run = run_bytes - position;
    const std::uint64_t bytes = in_run < left ? in_run : left;
    const std::byte* source;
    std::byte* destination;
    MoveToRun(row, run, source, destination);
    CopyAnySegment<kKind>(source + position, destination + position,
                          static_cast<std::uint32_t>(bytes));
    left -= bytes;
    position = 0;
  }
}

// A fill takes the paths of a copy onto itself: its source has the destination's place and strides.
template <CopyKind kKind>
__device__ inline void CopyTileOf(const Ends& row, const TableTile& tile) {
  std::uint64_t bits =
      AddressOf(row.source) | AddressOf(row.destination) | static_cast<std::uint64_t>(row.run);
  bool onto_itself = row.source == row.destination;
  for (std::int32_t d = 0; d < row.dim_count; ++d) {
    const StridedDim& dim = row.dims[d];
    bits |= static_cast<std::uint64_t>(dim.source_stride | dim.destination_stride);
    onto_itself = onto_itself && dim.source_stride == dim.destination_stride;
  }
  if (kKind == CopyKind::kCopy && onto_itself) return;
  // Where a run gives each lane two words at most, lanes would idle on one run at a time.
  const unsigned grain = Grain(bits);
  if (row.run > std::int64_t{2 * kLanes} * grain) return CopyLongRuns<kKind>(row, tile);
  switch (grain) {
    case 16:
      return CopyShortRuns<kKind, Word16>(row, tile);
    case 8:
      return CopyShortRuns<kKind, Word8>(row, tile);
    case 4:
      return CopyShortRuns<kKind, Word4>(row, tile);
    case 2:
      return CopyShortRuns<kKind, Word2>(row, tile);
    default:
      return CopyShortRuns<kKind, Word1>(row, tile);
  }
}

__device__ inline void CopyTile(const Ends& row, const TableTile& tile) {
  if (row.kind == CopyKind::kZero) return CopyTileOf<CopyKind::kZero>(row, tile);
  CopyTileOf<CopyKind::kCopy>(row, tile);
}

// Neighbouring warps take neighbouring tiles. 8 blocks on a multiprocessor keep it at 64 registers
// a thread: 32 warps, each with up to 2 KiB under way, cover the latency of memory.
__global__ void __launch_bounds__(kBlockThreads, 8)
    CopyKernel(Tables tables, const CopyTable::Row* rows, const StridedDim* dims) {
  for (std::int64_t t = Warp(); t < tables.tile_count; t += WarpCount()) {
    const TableTile tile = tables.tiles[t];
    const CopyTable::Row& row = rows[tile.row];
    CopyTile({tables.bases[row.source_base] + row.source_offset,
              tables.bases[row.destination_base] + row.destination_offset, row.run,
              dims + row.first_dim, row.dim_count, row.kind},
             tile);
  }
}

// ---- Digests ---------------------------------------------------------------------------------

__device__ inline std::uint64_t LoadElement(const std::byte* data, std::int32_t bytes) {
  if (bytes == 2 && AddressOf(data) % 2 == 0) return reinterpret_cast<const Word2*>(data)->value;
  if (bytes == 4 && AddressOf(data) % 4 == 0) return reinterpret_cast<const Word4*>(data)->value;
  if (bytes == 8 && AddressOf(data) % 8 == 0) return reinterpret_cast<const Word8*>(data)->value;
  std::uint64_t value = 0;
  for (std::int32_t b = 0; b < bytes; ++b) {
    value |= static_cast<std::uint64_t>(data[b]) << (8 * b);
  }
  return value;
}

// This lane's part of a tile's digest.
__device__ inline std::uint64_t DigestTile(const DigestTable::Row& row, const DigestDim* dims,
                                           const std::byte* box, const TableTile& tile) {
  const std::uint64_t first_key = static_cast<std::uint64_t>(row.tensor) * kGoldenGamma +
                                  static_cast<std::uint64_t>(row.first_index);
  std::uint64_t sum = 0;
  for (std::int32_t e = static_cast<std::int32_t>(Lane()); e < tile.count; e += kLanes) {
    std::uint64_t key = first_key;
    const std::byte* data = box;
    ForEachDigit(static_cast<std::uint64_t>(tile.begin + e), dims, row.dim_count,
                 [&](const DigestDim& dim, std::int64_t digit) {
                   key += static_cast<std::uint64_t>(digit * dim.index_stride);
                   data += digit * dim.byte_stride;
                 });
    sum += Mix64(Mix64(key) + LoadElement(data, row.element_bytes));
  }
  return sum;
}

// Each warp takes successive tiles, so that few of its sums end up in memory.
__global__ void __launch_bounds__(kBlockThreads)
    DigestKernel(Tables tables, const DigestTable::Row* rows, const DigestDim* dims,
                 unsigned long long* digests) {
  const std::int64_t per_warp = (tables.tile_count + WarpCount() - 1) / WarpCount();
  const std::int64_t begin = Warp() * per_warp;
  const std::int64_t end =
      begin + per_warp < tables.tile_count ? begin + per_warp : tables.tile_count;
  unsigned long long sum = 0;
  for (std::int64_t t = begin; t < end; ++t) {
    const TableTile tile = tables.tiles[t];
    const DigestTable::Row& row = rows[tile.row];
    sum += DigestTile(row, dims + row.first_dim, tables.bases[row.base] + row.offset, tile);
    if (t + 1 == end || tables.tiles[t + 1].row != tile.row) {
      atomicAdd(&digests[tile.row], sum);
      sum = 0;
    }
  }
}

// ---- Launches --------------------------------------------------------------------------------

unsigned BlocksFor(std::int64_t warps) {
  constexpr std::int64_t kWarps = kBlockThreads / kLanes;
  const std::int64_t blocks = (warps + kWarps - 1) / kWarps;
  return static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

Tables TablesAt(const DeviceTables& tables, const TableLocation& location) {
  return {reinterpret_cast<const TableTile*>(tables.image + location.tiles), location.tile_count,
          tables.bases};
}

}  // namespace

int LaunchCopies(const DeviceTables& tables, const TableLocation& location, CUstream_st* stream) {
  if (location.tile_count == 0) return 0;
  return Launch(CopyKernel, BlocksFor(location.tile_count), kBlockThreads, stream,
                TablesAt(tables, location),
                reinterpret_cast<const CopyTable::Row*>(tables.image + location.rows),
                reinterpret_cast<const StridedDim*>(tables.image + location.dims));
}

int LaunchDigests(const DeviceTables& tables, const TableLocation& location, std::uint64_t* digests,
                  CUstream_st* stream) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  if (location.tile_count == 0) return 0;
  // A quarter of a device's warps is plenty, and each adds to memory once for every row it meets.
  constexpr std::int64_t kTilesPerWarp = 4;
  return Launch(DigestKernel, BlocksFor((location.tile_count + kTilesPerWarp - 1) / kTilesPerWarp),
                kBlockThreads, stream, TablesAt(tables, location),
                reinterpret_cast<const DigestTable::Row*>(tables.image + location.rows),
                reinterpret_cast<const DigestDim*>(tables.image + location.dims),
                reinterpret_cast<unsigned long long*>(digests));
}

}  // namespace reshard
