// Made-up weights on a GPU: the parameters of a trial (runtime/trial_content.h), twice, on the host
// where they are made and checked and on the device where they are replayed.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "runtime/binding.h"
#include "runtime/nccl/device_resources.h"
#include "runtime/trial_content.h"

namespace reshard {

class DeviceMirror {
 public:
  // `memory` outlives it. Parameters that share memory there share it on the device.
  static Result<DeviceMirror> Make(TrialMemory& memory, const std::string& place);

  // For Engine::Bind: device memory, under the names of the host's.
  std::vector<NamedBuffer> SourceBuffers() const { return OnDevice(memory_->SourceBuffers()); }
  std::vector<NamedBuffer> DestinationBuffers() const {
    return OnDevice(memory_->DestinationBuffers());
  }

  // TrialMemory::Fill, and copies all of it to the device. No refit may run.
  Result<void> Fill(std::uint64_t refit);
  // Copies all of it to the host, then TrialMemory::Check.
  Result<void> Check(std::uint64_t refit);

 private:
  struct Buffer {
    std::byte* host = nullptr;
    std::int64_t bytes = 0;
    DeviceMemory device;
  };

  DeviceMirror(TrialMemory& memory, std::string place)
      : memory_(&memory), place_(std::move(place)) {}
  std::vector<NamedBuffer> OnDevice(std::vector<NamedBuffer> buffers) const;
  Result<void> Copy(bool to_device) const;

  TrialMemory* memory_;
  std::string place_;
  std::map<const std::byte*, Buffer> buffers_;  // by the host's address
};

}  // namespace reshard
