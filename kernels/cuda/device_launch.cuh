// Launching a kernel on a device, as kernels/cuda/host_launch.h does on the host.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace reshard {

// A store to memory that the host polls; seen there after all stores before it.
__device__ inline void StoreForHost(std::uint64_t* word, std::uint64_t value) {
  __threadfence_system();
  *static_cast<volatile std::uint64_t*>(word) = value;
}

// The cudaError_t of the launch itself, as a number.
template <typename... Parameters>
int Launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
           Parameters... arguments) {
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = dim3(blocks);
  configuration.blockDim = dim3(threads);
  configuration.stream = stream;
  return static_cast<int>(cudaLaunchKernelEx(&configuration, kernel, arguments...));
}

}  // namespace reshard
