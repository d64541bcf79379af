#include "runtime/nccl/rank_exchange.h"

#include <nccl.h>

#include <thread>
#include <utility>

#include "runtime/nccl/cuda_status.h"

namespace reshard {

Result<std::unique_ptr<RankExchange>> RankExchange::Make(const std::string& place,
                                                         Communicator& communicator) {
  std::unique_ptr<RankExchange> exchange(new RankExchange(place, communicator));
  Result<OwnedStream> stream = MakeStream(place);
  if (!stream) return tl::unexpected(stream.error());
  exchange->stream_ = *std::move(stream);
  return exchange;
}

Result<void> RankExchange::Upload(std::span<const std::byte> own, std::size_t all_bytes,
                                  const std::string& what) {
  if (Result<void> in_use = communicator_.CheckInUse(); !in_use) return in_use;
  for (const auto& [memory, bytes] : {std::pair(&own_, own.size()), std::pair(&all_, all_bytes)}) {
    Result<DeviceMemory> made =
        AllocateDeviceMemory(static_cast<std::int64_t>(bytes), place_, what);
    if (!made) return tl::unexpected(made.error());
    *memory = *std::move(made);
  }
  return CheckCuda(cudaMemcpy(own_.get(), own.data(), own.size(), cudaMemcpyHostToDevice), place_,
                   what);
}

Result<void> RankExchange::Await(int begun, std::span<std::byte> all,
                                 std::chrono::steady_clock::time_point deadline,
                                 const std::string& what) {
  Result<void> done = CheckNccl(static_cast<ncclResult_t>(begun), place_, what);
  if (done) done = communicator_.Settle(deadline, what);
  cudaError_t status = cudaSuccess;
  while (done && (status = cudaStreamQuery(stream_.get())) == cudaErrorNotReady) {
    if (std::chrono::steady_clock::now() >= deadline) {
      return RunError(place_, what + " was not over in time: not all ranks have come this far",
                      "look for ranks that failed before; start all of them again");
    }
    done = communicator_.CheckHealth();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  if (done) done = CheckCuda(status, place_, what);
  if (!done) return done;
  return CheckCuda(cudaMemcpy(all.data(), all_.get(), all.size(), cudaMemcpyDeviceToHost), place_,
                   what);
}

Result<std::vector<std::byte>> RankExchange::Gather(std::span<const std::byte> own,
                                                    std::chrono::steady_clock::time_point deadline,
                                                    const std::string& what) {
  std::vector<std::byte> all(own.size() * static_cast<std::size_t>(communicator_.rank_count()));
  if (all.empty()) return all;
  Result<void> done = Upload(own, all.size(), what);
  if (!done) return tl::unexpected(done.error());
  const ncclResult_t begun = ncclAllGather(own_.get(), all_.get(), own.size(), ncclInt8,
                                           communicator_.handle(), stream_.get());
  done = Await(begun, all, deadline, what);
  if (!done) return tl::unexpected(done.error());
  return all;
}

Result<void> RankExchange::MinimumOverRanks(std::span<std::uint64_t> values,
                                            std::chrono::steady_clock::time_point deadline,
                                            const std::string& what) {
  if (values.empty()) return {};
  const std::span<std::byte> bytes = std::as_writable_bytes(values);
  if (Result<void> uploaded = Upload(bytes, bytes.size(), what); !uploaded) return uploaded;
  const ncclResult_t begun = ncclAllReduce(own_.get(), all_.get(), values.size(), ncclUint64,
                                           ncclMin, communicator_.handle(), stream_.get());
  return Await(begun, bytes, deadline, what);
}

bool RankExchange::IsIdle() const { return cudaStreamQuery(stream_.get()) != cudaErrorNotReady; }

}  // namespace reshard
