#include "runtime/nccl/facts_exchange.h"

#include <nccl.h>

#include <cstddef>
#include <thread>
#include <utility>

#include "runtime/nccl/cuda_status.h"

namespace reshard {

Result<std::unique_ptr<FactsExchange>> FactsExchange::Make(const std::string& place,
                                                           Communicator& communicator) {
  std::unique_ptr<FactsExchange> exchange(new FactsExchange(place, communicator));
  Result<OwnedStream> stream = MakeStream(place);
  if (!stream) return tl::unexpected(stream.error());
  exchange->stream_ = *std::move(stream);
  constexpr std::int64_t kBytes = sizeof(RankFacts);
  Result<DeviceMemory> own = AllocateDeviceMemory(kBytes, place, "facts about the rank");
  if (!own) return tl::unexpected(own.error());
  exchange->own_ = *std::move(own);
  Result<DeviceMemory> all =
      AllocateDeviceMemory(kBytes * communicator.rank_count(), place, "facts about all ranks");
  if (!all) return tl::unexpected(all.error());
  exchange->all_ = *std::move(all);
  return exchange;
}

Result<std::vector<RankFacts>> FactsExchange::Run(const RankFacts& own,
                                                  std::chrono::steady_clock::time_point deadline) {
  const std::string what = "comparing the plan and the placement of all ranks";
  Result<void> done =
      CheckCuda(cudaMemcpy(own_.get(), &own, sizeof(own), cudaMemcpyHostToDevice), place_, what);
  if (done) {
    done = CheckNccl(ncclAllGather(own_.get(), all_.get(), sizeof(own), ncclInt8,
                                   communicator_.handle(), stream_.get()),
                     place_, what);
  }
  if (done) done = communicator_.Settle(deadline, what);
  cudaError_t status = cudaSuccess;
  while (done && (status = cudaStreamQuery(stream_.get())) == cudaErrorNotReady) {
    if (std::chrono::steady_clock::now() >= deadline) {
      done = RunError(place_, what + " was not over in time: not all ranks have come this far",
                      "look for ranks that failed before; start all of them again");
      break;
    }
    done = communicator_.CheckHealth();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  if (done) done = CheckCuda(status, place_, what);
  if (!done) return tl::unexpected(done.error());
  std::vector<RankFacts> facts(static_cast<std::size_t>(communicator_.rank_count()));
  done = CheckCuda(cudaMemcpy(facts.data(), all_.get(), facts.size() * sizeof(RankFacts),
                              cudaMemcpyDeviceToHost),
                   place_, what);
  if (!done) return tl::unexpected(done.error());
  return facts;
}

bool FactsExchange::IsIdle() const { return cudaStreamQuery(stream_.get()) != cudaErrorNotReady; }

}  // namespace reshard
