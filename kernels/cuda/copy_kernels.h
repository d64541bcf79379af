// One launch per pack, unpack or move step, and one per set of content digests, on a device.
//
//   DeviceImage image;                               // on the host, once
//   const TableLocation pack = image.Add(table);     // for every table of the rank
//   DeviceTables tables = {uploaded image, uploaded base addresses};
//   LaunchCopies(tables, pack, stream);              // asynchronous; may be captured into a graph
//
// This header needs no CUDA header: a CUstream_st* is a cudaStream_t, and a launch returns its
// cudaError_t as a number (0: cudaSuccess). The launches allocate nothing, wait for nothing and
// keep no state; they may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device_image.h"

struct CUstream_st;

namespace reshard {

// Both are device memory of the caller, in place until the last launch (or replay of a graph with
// it) has ended.
struct DeviceTables {
  const std::byte* image = nullptr;   // DeviceImage::bytes(), aligned to 16 bytes
  std::byte* const* bases = nullptr;  // addresses of the bases, as the table's rows number them
};

// Does what RunCopies() does, with the same preconditions. `location` is of a CopyTable. Launches
// nothing for an empty table. Addresses are read when the kernel runs: a graph that holds it
// follows a change of `bases`.
[[nodiscard]] int LaunchCopies(const DeviceTables& tables, const TableLocation& location,
                               CUstream_st* stream);

// Adds the digest of box i (RunDigests()) to digests[i], modulo 2^64: `digests` is device memory
// for location.row_count numbers, set to zero beforehand. `location` is of a DigestTable.
[[nodiscard]] int LaunchDigests(const DeviceTables& tables, const TableLocation& location,
                                std::uint64_t* digests, CUstream_st* stream);

}  // namespace reshard
