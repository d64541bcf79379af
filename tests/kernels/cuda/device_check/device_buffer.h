// Memory and tables on a device, for checks: allocated, filled and read back, every call checked.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "kernels/cuda/copy_kernels.h"

namespace reshard::device_check {

// A run error that names the call and what CUDA says of it.
Result<void> Checked(cudaError_t status, const char* call);
inline Result<void> Checked(int status, const char* call) {
  return Checked(static_cast<cudaError_t>(status), call);
}

struct StreamDeleter {
  void operator()(cudaStream_t stream) const { static_cast<void>(cudaStreamDestroy(stream)); }
};
using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, StreamDeleter>;

// One whose work begins after the copies to the device that the host made before.
Result<Stream> MakeStream();

class DeviceBuffer {
 public:
  static Result<DeviceBuffer> Make(std::int64_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer();

  std::byte* data() const { return data_; }
  Result<void> Upload(std::span<const std::byte> bytes);
  // What streams have written must have been waited for.
  Result<std::vector<std::byte>> Download() const;

 private:
  DeviceBuffer(std::byte* data, std::int64_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_;
  std::int64_t bytes_;
};

// One table with its image and base addresses on the device.
class UploadedTable {
 public:
  template <typename Table>
  static Result<UploadedTable> Make(const Table& table, std::span<std::byte* const> bases) {
    DeviceImage image;
    const TableLocation location = image.Add(table);
    return Upload(image, location, bases);
  }

  DeviceTables tables() const {
    return {image_.data(), reinterpret_cast<std::byte* const*>(bases_.data())};
  }
  const TableLocation& location() const { return location_; }

 private:
  UploadedTable(DeviceBuffer image, DeviceBuffer bases, TableLocation location)
      : image_(std::move(image)), bases_(std::move(bases)), location_(location) {}
  static Result<UploadedTable> Upload(const DeviceImage& image, const TableLocation& location,
                                      std::span<std::byte* const> bases);

  DeviceBuffer image_;
  DeviceBuffer bases_;
  TableLocation location_;
};

// The digests of `table`'s boxes, computed on the device and waited for.
Result<std::vector<std::uint64_t>> DeviceDigests(const DigestTable& table,
                                                 std::span<std::byte* const> bases,
                                                 cudaStream_t stream);

// One digest over the first `bytes` bytes at `data`, a multiple of 8.
Result<std::uint64_t> DigestOf(std::byte* data, std::int64_t bytes, cudaStream_t stream);

}  // namespace reshard::device_check
