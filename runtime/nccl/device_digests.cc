#include "runtime/nccl/device_digests.h"

#include <utility>

#include "kernels/cuda/copy_kernels.h"
#include "runtime/nccl/cuda_status.h"

namespace reshard {

Result<DeviceDigests> DeviceDigests::Make(const DigestTable& table,
                                          std::span<std::byte* const> bases,
                                          const std::string& place) {
  DeviceDigests digests;
  digests.place_ = place;
  DeviceImage image;
  digests.location_ = image.Add(table);
  Result<OwnedStream> stream = MakeStream(place);
  if (!stream) return tl::unexpected(stream.error());
  digests.stream_ = *std::move(stream);
  Result<DeviceMemory> uploaded = UploadBytes(image.bytes(), place, "digest tables");
  if (!uploaded) return tl::unexpected(uploaded.error());
  digests.image_ = *std::move(uploaded);
  uploaded = UploadBytes(std::as_bytes(bases), place, "addresses");
  if (!uploaded) return tl::unexpected(uploaded.error());
  digests.bases_ = *std::move(uploaded);
  Result<DeviceMemory> made = AllocateDeviceMemory(
      table.size() * static_cast<std::int64_t>(sizeof(std::uint64_t)), place, "content digests");
  if (!made) return tl::unexpected(made.error());
  digests.digests_ = *std::move(made);
  return digests;
}

Result<std::vector<std::uint64_t>> DeviceDigests::Run() const {
  const std::string what = "content digests cannot be computed";
  std::vector<std::uint64_t> digests(static_cast<std::size_t>(location_.row_count));
  if (digests.empty()) return digests;
  const std::size_t bytes = digests.size() * sizeof(std::uint64_t);
  Result<void> done =
      CheckCuda(cudaMemsetAsync(digests_.get(), 0, bytes, stream_.get()), place_, what);
  const DeviceTables tables = {image_.get(), reinterpret_cast<std::byte* const*>(bases_.get())};
  if (done) {
    done =
        CheckLaunch(LaunchDigests(tables, location_,
                                  reinterpret_cast<std::uint64_t*>(digests_.get()), stream_.get()),
                    place_, what);
  }
  if (done) done = CheckCuda(cudaStreamSynchronize(stream_.get()), place_, what);
  if (done) {
    done = CheckCuda(cudaMemcpy(digests.data(), digests_.get(), bytes, cudaMemcpyDeviceToHost),
                     place_, what);
  }
  if (!done) return tl::unexpected(done.error());
  return digests;
}

}  // namespace reshard
