// Owners of what CUDA gives: freed when they go, movable, null where nothing was made.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "foundation/error.h"
#include "runtime/nccl/cuda_status.h"

namespace reshard {

struct CudaDeleter {
  void operator()(cudaStream_t stream) const { static_cast<void>(cudaStreamDestroy(stream)); }
  void operator()(cudaEvent_t event) const { static_cast<void>(cudaEventDestroy(event)); }
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
};

using OwnedStream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, CudaDeleter>;
using OwnedEvent = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, CudaDeleter>;
using OwnedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, CudaDeleter>;
using OwnedGraphExec = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, CudaDeleter>;

struct DeviceMemoryDeleter {
  void operator()(std::byte* memory) const { static_cast<void>(cudaFree(memory)); }
};
struct HostMemoryDeleter {
  void operator()(void* memory) const { static_cast<void>(cudaFreeHost(memory)); }
};
using DeviceMemory = std::unique_ptr<std::byte, DeviceMemoryDeleter>;

// Streams do not wait for the legacy default stream.
Result<OwnedStream> MakeStream(const std::string& place);
// Measures time only where wanted.
Result<OwnedEvent> MakeEvent(const std::string& place, bool measures_time = false);
// Null for 0 bytes. `use` in an error: "staging".
Result<DeviceMemory> AllocateDeviceMemory(std::int64_t bytes, const std::string& place,
                                          const std::string& use, const std::string& remedy = "");
// Allocated and filled; null for none.
Result<DeviceMemory> UploadBytes(std::span<const std::byte> bytes, const std::string& place,
                                 const std::string& use);

}  // namespace reshard
