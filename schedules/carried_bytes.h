// What each rank sends each other over a whole refit, in any plan.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/plan.h"

namespace reshard {

struct CarriedBytes {
  RankIndex from = 0;
  RankIndex to = 0;
  std::int64_t bytes = 0;       // payload: without the padding between items
  std::int64_t operations = 0;  // transfers; sends, in a simulation-only plan
};

// Payload of a transfer over all rounds; 2^63 - 1 if it is more. Indices of `plan` are in range.
std::int64_t TransferBytes(const Plan& plan, const Transfer& transfer);

// One entry per transfer, or per flow of each phase: ends may repeat. `plan` has passed Verify().
std::vector<CarriedBytes> ListCarriedBytes(const Plan& plan);

}  // namespace reshard
