// The part of CUDA that the kernels use, for a compiler without it: grid and block become loops.
//
// kernels/cuda/*.cu compiled as C++ is the code that runs on a device, less its speed: tests hold
// it against the host twins, and under AddressSanitizer an access past an end shows.
#pragma once

#include <cstdint>
#include <functional>

struct CUstream_st;

#define __global__
#define __device__
#define __launch_bounds__(...)

namespace reshard {

struct HostDimension {
  unsigned x = 0;
};
inline thread_local HostDimension threadIdx, blockIdx, blockDim, gridDim;

// Enqueues `work` on `stream` and returns a cudaError_t as a number. Whoever links kernels that are
// compiled for the host says what a stream is: a test runs it at once, the doubles of the CUDA
// runtime when the stream gets there.
int RunOnStream(CUstream_st* stream, std::function<void()> work);

template <typename... Parameters>
int Launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, CUstream_st* stream,
           Parameters... arguments) {
  return RunOnStream(stream, [=] {
    gridDim = {blocks};
    blockDim = {threads};
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
      for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) kernel(arguments...);
    }
  });
}

// A store to memory that the host polls; seen there after all stores before it.
inline void StoreForHost(std::uint64_t* word, std::uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

inline void atomicMax(unsigned int* most, unsigned int value) {
  unsigned int known = __atomic_load_n(most, __ATOMIC_RELAXED);
  while (known < value && !__atomic_compare_exchange_n(most, &known, value, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
  }
}

inline void atomicAdd(unsigned long long* sum, unsigned long long value) {
  __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

}  // namespace reshard
