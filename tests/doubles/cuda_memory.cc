// cudaMalloc and its kin: memory, copies, devices, errors.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>

#include "tests/doubles/controls.h"
#include "tests/doubles/device_memory.h"
#include "tests/doubles/stream.h"

using reshard::doubles::CallsOfThisThread;
using reshard::doubles::CountLive;
using reshard::doubles::InOpenView;
using reshard::doubles::InvalidateCaptures;
using reshard::doubles::IsThisThreadCapturing;
using reshard::doubles::Live;
using reshard::doubles::Work;

namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

// Processes of a job see the eight GPUs of a node.
constexpr int kDevices = 8;

cudaError_t Return(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// Calls that may wait for the device are not allowed while this thread captures.
bool IsRefused() {
  if (!IsThisThreadCapturing()) return false;
  InvalidateCaptures();
  last_error = cudaErrorStreamCaptureUnsupported;
  return true;
}

// Whether an end of a copy that lies in the device's range lies in one allocation.
bool IsFine(const void* pointer, std::size_t bytes) {
  return !reshard::doubles::IsDeviceAddress(pointer) || reshard::doubles::IsDevice(pointer, bytes);
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (IsRefused()) return cudaErrorStreamCaptureUnsupported;
  ++CallsOfThisThread().allocations;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = reshard::doubles::AllocateDevice(bytes);
  return Return(*pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaFree(void* pointer) {
  if (IsRefused()) return cudaErrorStreamCaptureUnsupported;
  if (pointer == nullptr) return cudaSuccess;
  ++CallsOfThisThread().allocations;
  return Return(reshard::doubles::FreeDevice(pointer) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  if (IsRefused()) return cudaErrorStreamCaptureUnsupported;
  ++CallsOfThisThread().allocations;
  *pointer = std::calloc(1, bytes);
  if (*pointer == nullptr) return Return(cudaErrorMemoryAllocation);
  CountLive(&Live::pinned_allocations, 1);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* pointer) {
  if (IsRefused()) return cudaErrorStreamCaptureUnsupported;
  if (pointer == nullptr) return cudaSuccess;
  ++CallsOfThisThread().allocations;
  std::free(pointer);
  CountLive(&Live::pinned_allocations, -1);
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  if (IsRefused()) return cudaErrorStreamCaptureUnsupported;
  ++CallsOfThisThread().copies;
  ++CallsOfThisThread().synchronizations;
  if (!IsFine(to, bytes) || !IsFine(from, bytes)) return Return(cudaErrorInvalidValue);
  std::memcpy(InOpenView(to), InOpenView(from), bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (stream == nullptr) return cudaMemcpy(to, from, bytes, kind);
  if (!IsFine(to, bytes) || !IsFine(from, bytes)) return Return(cudaErrorInvalidValue);
  if (!stream->IsCapturing()) ++CallsOfThisThread().copies;
  stream->Add(Work([=] { std::memcpy(InOpenView(to), InOpenView(from), bytes); }));
  return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  if (IsRefused()) return cudaErrorStreamCaptureUnsupported;
  ++CallsOfThisThread().copies;
  if (!IsFine(to, bytes)) return Return(cudaErrorInvalidValue);
  std::memset(InOpenView(to), value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  if (stream == nullptr) return cudaMemset(to, value, bytes);
  if (!IsFine(to, bytes)) return Return(cudaErrorInvalidValue);
  if (!stream->IsCapturing()) ++CallsOfThisThread().copies;
  stream->Add(Work([=] { std::memset(InOpenView(to), value, bytes); }));
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return Return(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= kDevices) return Return(cudaErrorInvalidDevice);
  *properties = {};
  std::strncpy(properties->name, "a double", sizeof(properties->name) - 1);
  properties->uuid.bytes[0] = static_cast<char>(device + 1);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int from, int to) {
  if (from < 0 || from >= kDevices || to < 0 || to >= kDevices || from == to) {
    return Return(cudaErrorInvalidDevice);
  }
  *value = 1;  // NVLink between all of them
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char*, int, int) { return Return(cudaErrorNotSupported); }

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaError";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureUnjoined:
      return "capture has unjoined work";
    case cudaErrorNotReady:
      return "device not ready";
    default:
      return "invalid call";
  }
}

}  // extern "C"
