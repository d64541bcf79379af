// How the compiler asks what a plan costs, without knowing who answers. Tools inject the simulator.
#pragma once

#include <cstdint>
#include <string>

#include "foundation/error.h"
#include "schedules/plan.h"

namespace reshard {

// How NCCL deals out the messages of sends and receives: what the compiler chooses a plan's
// ChannelHints by.
struct ChannelFacts {
  double network_gbps = 0;               // of one channel to a network peer
  std::int64_t channels = 0;             // that a communicator has for sends and receives
  std::int64_t operations_together = 0;  // on one channel
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  // Seconds from the first pack to the last unpack of `plan`. Deterministic.
  virtual Result<double> PredictSeconds(const Plan& plan) const = 0;
  virtual ChannelFacts Channels() const = 0;
  // Digest of the constants behind the answer, for the certificate.
  virtual std::string ConstantsDigest() const = 0;
};

}  // namespace reshard
