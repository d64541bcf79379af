// Return codes of CUDA and NCCL as errors.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>
#include <utility>

#include "foundation/error.h"

namespace reshard {

// `what` failed: "staging cannot be allocated". The remedy is for what users can do about it.
inline Result<void> CheckCuda(cudaError_t status, const std::string& place, const std::string& what,
                              std::string remedy = "") {
  if (status == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());  // what is reported here must not show up elsewhere
  return RunError(place, what + ": CUDA says \"" + cudaGetErrorString(status) + "\"",
                  std::move(remedy));
}

// Launches of kernels/cuda/ return numbers.
inline Result<void> CheckLaunch(int status, const std::string& place, const std::string& what) {
  return CheckCuda(static_cast<cudaError_t>(status), place, what);
}

// `ncclInProgress` is none: a non-blocking communicator is asked again until it is done.
inline Result<void> CheckNccl(ncclResult_t status, const std::string& place,
                              const std::string& what, std::string remedy = "") {
  if (status == ncclSuccess || status == ncclInProgress) return {};
  return RunError(place, what + ": NCCL says \"" + ncclGetErrorString(status) + "\"",
                  std::move(remedy));
}

}  // namespace reshard
