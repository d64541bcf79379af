// Content digests of a rank's parameters, computed where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "kernels/content_digest.h"
#include "kernels/device_image.h"
#include "runtime/nccl/device_resources.h"

namespace reshard {

class DeviceDigests {
 public:
  // `bases` are device addresses, as the rows of `table` number them, of memory that outlives it.
  static Result<DeviceDigests> Make(const DigestTable& table, std::span<std::byte* const> bases,
                                    const std::string& place);

  // The digest of every row; waits for the device.
  Result<std::vector<std::uint64_t>> Run() const;

 private:
  std::string place_;
  TableLocation location_;
  OwnedStream stream_;
  DeviceMemory image_;
  DeviceMemory bases_;
  DeviceMemory digests_;
};

}  // namespace reshard
