// The small plan with tensors that its source ranks compute.
//
//   "b" [32] F32 are the scales of blocks of 4 elements of "b.weight" [128] BF16, which ranks 0 and
//       1 store
//   "c" [4] BF16 is the cast of F32 "c", which rank 0 stores as "master"
#pragma once

#include "schedules/plan.h"

namespace reshard {

Plan ConvertedPlan();

}  // namespace reshard
