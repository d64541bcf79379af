#include "tests/kernels/cuda/device_check/device_buffer.h"

#include <string>
#include <utility>

namespace reshard::device_check {

Result<void> Checked(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return {};
  return RunError(call, std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status),
                  "look at the driver's log");
}

Result<Stream> MakeStream() {
  cudaStream_t stream = nullptr;
  const Result<void> made =
      Checked(cudaStreamCreateWithFlags(&stream, cudaStreamDefault), "cudaStreamCreateWithFlags");
  if (!made) return tl::unexpected(made.error());
  return Stream(stream);
}

Result<DeviceBuffer> DeviceBuffer::Make(std::int64_t bytes) {
  void* data = nullptr;
  // An allocation of nothing may be null; a buffer never is.
  const auto size = static_cast<std::size_t>(bytes > 0 ? bytes : 1);
  if (const Result<void> made = Checked(cudaMalloc(&data, size), "cudaMalloc"); !made) {
    return tl::unexpected(made.error());
  }
  return DeviceBuffer(static_cast<std::byte*>(data), bytes);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

DeviceBuffer::~DeviceBuffer() {
  if (data_ != nullptr) static_cast<void>(cudaFree(data_));
}

Result<void> DeviceBuffer::Upload(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  return Checked(cudaMemcpy(data_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
                 "cudaMemcpy to the device");
}

Result<std::vector<std::byte>> DeviceBuffer::Download() const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_));
  if (bytes.empty()) return bytes;
  const Result<void> copied =
      Checked(cudaMemcpy(bytes.data(), data_, bytes.size(), cudaMemcpyDeviceToHost),
              "cudaMemcpy from the device");
  if (!copied) return tl::unexpected(copied.error());
  return bytes;
}

Result<UploadedTable> UploadedTable::Upload(const DeviceImage& image, const TableLocation& location,
                                            std::span<std::byte* const> bases) {
  Result<DeviceBuffer> image_buffer =
      DeviceBuffer::Make(static_cast<std::int64_t>(image.bytes().size()));
  if (!image_buffer) return tl::unexpected(image_buffer.error());
  Result<DeviceBuffer> bases_buffer =
      DeviceBuffer::Make(static_cast<std::int64_t>(bases.size_bytes()));
  if (!bases_buffer) return tl::unexpected(bases_buffer.error());
  Result<void> uploaded = image_buffer->Upload(image.bytes());
  if (uploaded) uploaded = bases_buffer->Upload(std::as_bytes(bases));
  if (!uploaded) return tl::unexpected(uploaded.error());
  return UploadedTable(*std::move(image_buffer), *std::move(bases_buffer), location);
}

Result<std::vector<std::uint64_t>> DeviceDigests(const DigestTable& table,
                                                 std::span<std::byte* const> bases,
                                                 cudaStream_t stream) {
  const Result<UploadedTable> uploaded = UploadedTable::Make(table, bases);
  if (!uploaded) return tl::unexpected(uploaded.error());
  std::vector<std::uint64_t> digests(static_cast<std::size_t>(table.size()), 0);
  const std::span<std::uint64_t> values(digests);
  Result<DeviceBuffer> sums = DeviceBuffer::Make(static_cast<std::int64_t>(values.size_bytes()));
  if (!sums) return tl::unexpected(sums.error());
  Result<void> done = sums->Upload(std::as_bytes(values));  // zeros
  if (done) {
    done = Checked(LaunchDigests(uploaded->tables(), uploaded->location(),
                                 reinterpret_cast<std::uint64_t*>(sums->data()), stream),
                   "digest kernel");
  }
  if (done) done = Checked(cudaStreamSynchronize(stream), "digest kernel");
  if (done && !digests.empty()) {
    done = Checked(
        cudaMemcpy(digests.data(), sums->data(), values.size_bytes(), cudaMemcpyDeviceToHost),
        "cudaMemcpy of digests");
  }
  if (!done) return tl::unexpected(done.error());
  return digests;
}

Result<std::uint64_t> DigestOf(std::byte* data, std::int64_t bytes, cudaStream_t stream) {
  const DigestDim dims[] = {{bytes / 8, 1, 8}};
  DigestTable table;
  table.Add({0, 8, 0, 0, 0, dims});
  std::byte* const bases[] = {data};
  const Result<std::vector<std::uint64_t>> digests = DeviceDigests(table, bases, stream);
  if (!digests) return tl::unexpected(digests.error());
  return digests->front();
}

}  // namespace reshard::device_check
