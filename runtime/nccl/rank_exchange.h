// What all ranks of a communicator tell each other outside of refits: facts, counts, digests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "runtime/nccl/communicator.h"
#include "runtime/nccl/device_resources.h"

namespace reshard {

// All calls but IsIdle are collective and have a deadline. If one fails NCCL may still use the
// memory of this object: the communicator must be stopped, and this object be idle, before it goes.
class RankExchange {
 public:
  // `communicator` outlives it.
  static Result<std::unique_ptr<RankExchange>> Make(const std::string& place,
                                                    Communicator& communicator);

  // The bytes of every rank, in their order; all tell equally many. `what` in an error: "comparing
  // content digests".
  Result<std::vector<std::byte>> Gather(std::span<const std::byte> own,
                                        std::chrono::steady_clock::time_point deadline,
                                        const std::string& what);
  // Each of `values` becomes its minimum over all ranks; all have equally many.
  Result<void> MinimumOverRanks(std::span<std::uint64_t> values,
                                std::chrono::steady_clock::time_point deadline,
                                const std::string& what);

  // Whether nothing of it runs any more.
  bool IsIdle() const;

 private:
  RankExchange(std::string place, Communicator& communicator)
      : place_(std::move(place)), communicator_(communicator) {}
  Result<void> Upload(std::span<const std::byte> own, std::size_t all_bytes,
                      const std::string& what);
  // Waits for what was begun, then copies it to the host.
  Result<void> Await(int begun, std::span<std::byte> all,
                     std::chrono::steady_clock::time_point deadline, const std::string& what);

  std::string place_;
  Communicator& communicator_;
  OwnedStream stream_;
  DeviceMemory own_;
  DeviceMemory all_;
};

}  // namespace reshard
