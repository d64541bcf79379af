#include "tests/kernels/cuda/device_check/naive_copy.h"

#ifdef __CUDACC__
#include "kernels/cuda/device_launch.cuh"
#else
#include "kernels/cuda/host_launch.h"
#endif

namespace reshard::device_check {
namespace {

__global__ void NaiveKernel(const TableTile* tiles, std::int64_t tile_count,
                            const CopyTable::Row* rows, const StridedDim* all_dims,
                            std::byte* const* bases) {
  for (std::int64_t t = blockIdx.x; t < tile_count; t += gridDim.x) {
    const CopyTable::Row& row = rows[tiles[t].row];
    const StridedDim* dims = all_dims + row.first_dim;
    for (std::int64_t i = threadIdx.x; i < tiles[t].count; i += blockDim.x) {
      const std::int64_t byte = tiles[t].begin + i;
      std::int64_t source = row.source_offset + byte % row.run;
      std::int64_t destination = row.destination_offset + byte % row.run;
      std::int64_t index = byte / row.run;
      for (std::int32_t d = row.dim_count - 1; d >= 0; --d) {
        source += index % dims[d].count * dims[d].source_stride;
        destination += index % dims[d].count * dims[d].destination_stride;
        index /= dims[d].count;
      }
      bases[row.destination_base][destination] = bases[row.source_base][source];
    }
  }
}

}  // namespace

int LaunchNaiveCopies(const DeviceTables& tables, const TableLocation& location,
                      CUstream_st* stream) {
  constexpr std::int64_t kMaxBlocks = 1 << 16;
  if (location.tile_count == 0) return 0;
  const std::int64_t blocks = location.tile_count < kMaxBlocks ? location.tile_count : kMaxBlocks;
  return Launch(NaiveKernel, static_cast<unsigned>(blocks), 256u, stream,
                reinterpret_cast<const TableTile*>(tables.image + location.tiles),
                location.tile_count,
                reinterpret_cast<const CopyTable::Row*>(tables.image + location.rows),
                reinterpret_cast<const StridedDim*>(tables.image + location.dims), tables.bases);
}

}  // namespace reshard::device_check
