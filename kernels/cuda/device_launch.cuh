// Launching a kernel on a device, as kernels/cuda/host_launch.h does on the host.
#pragma once

#include <cuda_runtime.h>

namespace reshard {

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
