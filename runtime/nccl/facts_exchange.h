// What every rank says of itself, told to all, before anything is captured.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "runtime/nccl/communicator.h"
#include "runtime/nccl/device_resources.h"
#include "runtime/nccl/placement.h"

namespace reshard {

class FactsExchange {
 public:
  static Result<std::unique_ptr<FactsExchange>> Make(const std::string& place,
                                                     Communicator& communicator);

  // Collective. If it fails NCCL may still use the memory of this object: the communicator must be
  // stopped, and this object be idle, before it goes.
  Result<std::vector<RankFacts>> Run(const RankFacts& own,
                                     std::chrono::steady_clock::time_point deadline);
  // Whether nothing of it runs any more.
  bool IsIdle() const;

 private:
  FactsExchange(std::string place, Communicator& communicator)
      : place_(std::move(place)), communicator_(communicator) {}

  std::string place_;
  Communicator& communicator_;
  OwnedStream stream_;
  DeviceMemory own_;
  DeviceMemory all_;
};

}  // namespace reshard
