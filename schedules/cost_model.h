// How the compiler asks what a plan costs, without knowing who answers. Tools inject the simulator.
#pragma once

#include <string>

#include "foundation/error.h"
#include "schedules/plan.h"

namespace reshard {

class CostModel {
 public:
  virtual ~CostModel() = default;
  // Seconds from the first pack to the last unpack of `plan`. Deterministic.
  virtual Result<double> PredictSeconds(const Plan& plan) const = 0;
  // Digest of the constants behind the answer, for the certificate.
  virtual std::string ConstantsDigest() const = 0;
};

}  // namespace reshard
