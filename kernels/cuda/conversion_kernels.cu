#include "kernels/conversion_element.h"
#include "kernels/cuda/conversion_kernels.h"

#ifdef __CUDACC__
#include "kernels/cuda/device_launch.cuh"
#else
#include "kernels/cuda/host_launch.h"
#endif

// To be compiled without fused products and sums (kernels/conversion_arithmetic.h).
namespace reshard {
namespace {

// A warp takes a block or a tile, its lanes the elements in it. Warps do not meet.
constexpr unsigned kLanes = 32;
constexpr unsigned kBlockThreads = 128;
constexpr std::int64_t kMaxBlocks = 1 << 16;

// Memory of any type is accessed through them.
template <typename Value>
struct __attribute__((may_alias)) Word {
  Value value;
};
using Word2 = Word<std::uint16_t>;
using Word4 = Word<std::uint32_t>;

struct Buffers {
  const ConvertedBuffers::Row* rows;
  const ConversionDim* dims;
  std::byte* const* bases;
};

__device__ inline unsigned Lane() { return threadIdx.x % kLanes; }
__device__ inline std::int64_t Thread() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t ThreadCount() { return std::int64_t{gridDim.x} * blockDim.x; }

// Division of 32-bit numbers takes a fraction of the time of 64-bit ones.
__device__ inline std::int64_t Divide(std::int64_t dividend, std::int64_t divisor) {
  if (((static_cast<std::uint64_t>(dividend) | static_cast<std::uint64_t>(divisor)) >> 32) == 0) {
    return static_cast<std::uint32_t>(dividend) / static_cast<std::uint32_t>(divisor);
  }
  return dividend / divisor;
}

// Without a sum of extent and block, which need not fit.
__device__ inline std::int64_t BlocksAlong(const ConversionDim& dim) {
  return Divide(dim.extent - 1, dim.block) + 1;
}

// Elements of sources are aligned to their size.
__device__ inline float Number(const std::byte* data, ConversionElement element) {
  if (BytesOf(element) == 2) return NumberOf(element, reinterpret_cast<const Word2*>(data)->value);
  return NumberOf(element, reinterpret_cast<const Word4*>(data)->value);
}

// ---- Blocks ------------------------------------------------------------------------------------

// A block as a box of source elements.
struct BlockBox {
  const std::byte* first;
  std::int64_t elements;
};

__device__ inline std::int64_t Inside(const ConversionDim& dim, std::int64_t block) {
  const std::int64_t rest = dim.extent - block * dim.block;
  return rest < dim.block ? rest : dim.block;
}

__device__ inline BlockBox BoxOf(const ConvertedBuffers::Row& buffer, const ConversionDim* dims,
                                 const std::byte* source, std::int64_t block) {
  BlockBox box = {source, 1};
  for (std::int32_t d = buffer.dim_count - 1; d >= 0; --d) {
    const std::int64_t blocks = BlocksAlong(dims[d]);
    const std::int64_t rest = Divide(block, blocks);
    const std::int64_t along = block - rest * blocks;
    box.first += along * dims[d].block * dims[d].stride;
    box.elements *= Inside(dims[d], along);
    block = rest;
  }
  return box;
}

// The largest magnitude of every `step`-th element of a block, from the `start`-th on.
__device__ inline std::uint32_t Amax(const ConvertedBuffers::Row& buffer, const ConversionDim* dims,
                                     const std::byte* source, std::int64_t block,
                                     std::int64_t start, std::int64_t step) {
  const BlockBox box = BoxOf(buffer, dims, source, block);
  std::uint32_t amax = 0;
  for (std::int64_t e = start; e < box.elements; e += step) {
    const std::byte* data = box.first;
    std::int64_t element = e;
    std::int64_t block_rest = block;
    for (std::int32_t d = buffer.dim_count - 1; d >= 0; --d) {
      const std::int64_t blocks = BlocksAlong(dims[d]);
      const std::int64_t outer_block = Divide(block_rest, blocks);
      const std::int64_t count = Inside(dims[d], block_rest - outer_block * blocks);
      const std::int64_t outer = Divide(element, count);
      data += (element - outer * count) * dims[d].stride;
      element = outer;
      block_rest = outer_block;
    }
    const std::uint32_t magnitude = MagnitudeBits(Number(data, buffer.from));
    amax = magnitude > amax ? magnitude : amax;
  }
  return amax;
}

__global__ void __launch_bounds__(kBlockThreads)
    ClearKernel(std::uint32_t* words, std::int64_t count) {
  for (std::int64_t i = Thread(); i < count; i += ThreadCount()) words[i] = 0;
}

// A warp for each block.
__global__ void __launch_bounds__(kBlockThreads)
    AmaxKernel(Buffers buffers, const BlockTask* tasks, std::int64_t task_count,
               std::uint32_t* words) {
  for (std::int64_t t = Thread() / kLanes; t < task_count; t += ThreadCount() / kLanes) {
    const BlockTask task = tasks[t];
    const ConvertedBuffers::Row& buffer = buffers.rows[task.buffer];
    const std::uint32_t amax =
        Amax(buffer, buffers.dims + buffer.first_dim, buffers.bases[buffer.base] + buffer.offset,
             task.block, Lane(), kLanes);
    atomicMax(&words[task.scratch], amax);
  }
}

// ---- Elements ----------------------------------------------------------------------------------

// The bits of element `index` of a converted buffer. `words` are those of its blocks, or null where
// none are gathered.
__device__ inline std::uint32_t ConvertedElement(const ConvertedBuffers::Row& buffer,
                                                 const ConversionDim* dims, const std::byte* source,
                                                 const std::uint32_t* words, std::int64_t index) {
  const auto scale_of = [&](std::int64_t block) {
    return ScaleOfBlock(buffer.rule,
                        words != nullptr ? words[block] : Amax(buffer, dims, source, block, 0, 1));
  };
  if (buffer.function == ConversionFunction::kBlockScales) return scale_of(index).stored;
  const std::byte* data = source;
  std::int64_t block = 0;
  std::int64_t blocks_behind = 1;
  for (std::int32_t d = buffer.dim_count - 1; d >= 0; --d) {
    const std::int64_t outer = Divide(index, dims[d].extent);
    const std::int64_t along = index - outer * dims[d].extent;
    data += along * dims[d].stride;
    if (buffer.function == ConversionFunction::kBlockValues) {
      block += Divide(along, dims[d].block) * blocks_behind;
      blocks_behind *= BlocksAlong(dims[d]);
    }
    index = outer;
  }
  const float value = Number(data, buffer.from);
  if (buffer.function == ConversionFunction::kBlockValues) {
    return BlockElement(value, scale_of(block));
  }
  return BitsOf(buffer.to, ApplyToNumber(buffer.function, value));
}

struct Copies {
  const TableTile* tiles;
  std::int64_t tile_count;
  const CopyTable::Row* rows;
  const StridedDim* dims;
  const std::int64_t* first_words;
};

// Whether all units of a copy are whole elements of `bytes` at addresses they are aligned at.
__device__ inline bool IsOfWholeElements(const CopyTable::Row& row, const StridedDim* dims,
                                         const std::byte* destination, std::int64_t bytes) {
  std::int64_t bits = row.source_offset | row.run |
                      static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(destination));
  for (std::int32_t d = 0; d < row.dim_count; ++d) {
    bits |= dims[d].source_stride | dims[d].destination_stride;
  }
  return bits % bytes == 0;
}

__device__ inline void Store(std::byte* destination, std::uint32_t bits, std::int64_t bytes) {
  if (bytes == 1) {
    *destination = static_cast<std::byte>(bits);
  } else if (bytes == 2) {
    reinterpret_cast<Word2*>(destination)->value = static_cast<std::uint16_t>(bits);
  } else {
    reinterpret_cast<Word4*>(destination)->value = bits;
  }
}

__device__ inline void ConvertTile(const TableTile& tile, const CopyTable::Row& row,
                                   const StridedDim* row_dims, const Buffers& buffers,
                                   const std::uint32_t* words) {
  const ConvertedBuffers::Row& buffer = buffers.rows[row.source_base];
  const ConversionDim* dims = buffers.dims + buffer.first_dim;
  const std::byte* source = buffers.bases[buffer.base] + buffer.offset;
  std::byte* destination = buffers.bases[row.destination_base] + row.destination_offset;
  const std::int64_t element_bytes = BytesOf(buffer.to);
  const bool is_whole = IsOfWholeElements(row, row_dims, destination, element_bytes);
  const std::int64_t unit = is_whole ? element_bytes : 1;
  for (std::int64_t u = std::int64_t{Lane()} * unit; u < tile.count; u += kLanes * unit) {
    std::int64_t run = Divide(tile.begin + u, row.run);
    const std::int64_t position = tile.begin + u - run * row.run;
    std::int64_t from = row.source_offset + position;
    std::byte* to = destination + position;
    for (std::int32_t d = row.dim_count - 1; d >= 0; --d) {
      const std::int64_t outer = Divide(run, row_dims[d].count);
      const std::int64_t digit = run - outer * row_dims[d].count;
      from += digit * row_dims[d].source_stride;
      to += digit * row_dims[d].destination_stride;
      run = outer;
    }
    const std::int64_t index = Divide(from, element_bytes);
    const std::uint32_t bits = ConvertedElement(buffer, dims, source, words, index);
    const auto skipped = static_cast<std::uint32_t>(from - index * element_bytes);
    Store(to, bits >> (8 * skipped), unit);
  }
}

__global__ void __launch_bounds__(kBlockThreads)
    ConvertKernel(Copies copies, Buffers buffers, const std::uint32_t* words) {
  for (std::int64_t t = Thread() / kLanes; t < copies.tile_count; t += ThreadCount() / kLanes) {
    const TableTile tile = copies.tiles[t];
    const CopyTable::Row& row = copies.rows[tile.row];
    const std::int64_t first_word = copies.first_words[tile.row];
    ConvertTile(tile, row, copies.dims + row.first_dim, buffers,
                first_word < 0 ? nullptr : words + first_word);
  }
}

unsigned BlocksFor(std::int64_t threads) {
  const std::int64_t blocks = (threads + kBlockThreads - 1) / kBlockThreads;
  return static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

template <typename Element>
const Element* At(const DeviceTables& tables, std::int64_t offset) {
  return reinterpret_cast<const Element*>(tables.image + offset);
}

}  // namespace

int LaunchConversions(const DeviceTables& tables, const ConversionLocation& location,
                      std::uint32_t* scratch, CUstream_st* stream) {
  const TableLocation& copies = location.copies;
  if (copies.tile_count == 0) return 0;
  const Buffers buffers = {At<ConvertedBuffers::Row>(tables, location.buffers.rows),
                           At<ConversionDim>(tables, location.buffers.dims), tables.bases};
  if (location.task_count > 0) {
    int status = Launch(ClearKernel, BlocksFor(location.scratch_words), kBlockThreads, stream,
                        scratch, location.scratch_words);
    if (status != 0) return status;
    status = Launch(AmaxKernel, BlocksFor(location.task_count * kLanes), kBlockThreads, stream,
                    buffers, At<BlockTask>(tables, location.tasks), location.task_count, scratch);
    if (status != 0) return status;
  }
  return Launch(ConvertKernel, BlocksFor(copies.tile_count * kLanes), kBlockThreads, stream,
                Copies{At<TableTile>(tables, copies.tiles), copies.tile_count,
                       At<CopyTable::Row>(tables, copies.rows), At<StridedDim>(tables, copies.dims),
                       At<std::int64_t>(tables, location.first_words)},
                buffers, static_cast<const std::uint32_t*>(scratch));
}

}  // namespace reshard
