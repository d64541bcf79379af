#include "runtime/nccl/device_mirror.h"

#include <algorithm>
#include <utility>

#include "runtime/nccl/cuda_status.h"

namespace reshard {

Result<DeviceMirror> DeviceMirror::Make(TrialMemory& memory, const std::string& place) {
  DeviceMirror mirror(memory, place);
  for (const std::vector<NamedBuffer>& buffers :
       {memory.SourceBuffers(), memory.DestinationBuffers()}) {
    for (const NamedBuffer& buffer : buffers) {
      if (buffer.bytes == 0) continue;
      Buffer& mirrored = mirror.buffers_[buffer.data];
      mirrored.host = buffer.data;
      mirrored.bytes = std::max(mirrored.bytes, buffer.bytes);
    }
  }
  for (auto& [host, buffer] : mirror.buffers_) {
    Result<DeviceMemory> made =
        AllocateDeviceMemory(buffer.bytes, place, "a parameter", "replay a smaller job");
    if (!made) return tl::unexpected(made.error());
    buffer.device = *std::move(made);
  }
  return mirror;
}

std::vector<NamedBuffer> DeviceMirror::OnDevice(std::vector<NamedBuffer> buffers) const {
  for (NamedBuffer& buffer : buffers) {
    buffer.data = buffer.bytes == 0 ? nullptr : buffers_.at(buffer.data).device.get();
  }
  return buffers;
}

Result<void> DeviceMirror::Copy(bool to_device) const {
  for (const auto& [host, buffer] : buffers_) {
    void* const to = to_device ? buffer.device.get() : buffer.host;
    const void* const from = to_device ? buffer.host : buffer.device.get();
    Result<void> copied =
        CheckCuda(cudaMemcpy(to, from, static_cast<std::size_t>(buffer.bytes),
                             to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost),
                  place_, "a parameter cannot be copied");
    if (!copied) return copied;
  }
  return {};
}

Result<void> DeviceMirror::Fill(std::uint64_t refit) {
  memory_->Fill(refit);
  return Copy(true);
}

Result<void> DeviceMirror::Check(std::uint64_t refit) {
  Result<void> copied = Copy(false);
  if (!copied) return copied;
  return memory_->Check(refit);
}

}  // namespace reshard
