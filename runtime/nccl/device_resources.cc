#include "runtime/nccl/device_resources.h"

namespace reshard {

Result<OwnedStream> MakeStream(const std::string& place) {
  cudaStream_t stream = nullptr;
  const Result<void> made = CheckCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                                      place, "a stream cannot be made");
  if (!made) return tl::unexpected(made.error());
  return OwnedStream(stream);
}

Result<OwnedEvent> MakeEvent(const std::string& place, bool measures_time) {
  cudaEvent_t event = nullptr;
  const unsigned flags = measures_time ? cudaEventDefault : cudaEventDisableTiming;
  const Result<void> made =
      CheckCuda(cudaEventCreateWithFlags(&event, flags), place, "an event cannot be made");
  if (!made) return tl::unexpected(made.error());
  return OwnedEvent(event);
}

Result<DeviceMemory> AllocateDeviceMemory(std::int64_t bytes, const std::string& place,
                                          const std::string& use, const std::string& remedy) {
  void* memory = nullptr;
  const Result<void> made =
      CheckCuda(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), place,
                "no device memory for " + std::to_string(bytes) + " bytes of " + use, remedy);
  if (!made) return tl::unexpected(made.error());
  return DeviceMemory(static_cast<std::byte*>(memory));
}

Result<DeviceMemory> UploadBytes(std::span<const std::byte> bytes, const std::string& place,
                                 const std::string& use) {
  Result<DeviceMemory> made =
      AllocateDeviceMemory(static_cast<std::int64_t>(bytes.size()), place, use);
  if (!made || bytes.empty()) return made;
  const Result<void> copied =
      CheckCuda(cudaMemcpy(made->get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), place,
                use + " cannot be uploaded");
  if (!copied) return tl::unexpected(copied.error());
  return made;
}

}  // namespace reshard
