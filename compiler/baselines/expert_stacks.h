// Experts as one tensor per layer: how M2N and NeMo RL see them.
//
// "layers.3.mlp.experts.0.up_proj.weight" .. "layers.3.mlp.experts.255.up_proj.weight", each [F,
// H], are one tensor [256, F, H], its first dim the experts by ascending number.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/baselines/tensor_placements.h"
#include "schedules/job_records.h"

namespace reshard {

// Tensors of one shape and placement, stacked or not.
struct StackedTensors {
  // Of the stacked shape. Its `tensors` are all of the job's that went into them, so that its
  // count() is not how many there are:
  PlacedTensors placed;
  std::int64_t stacks = 1;
};

// `placed`, all of the job's, with experts stacked. The experts of a layer stay apart where they
// differ in shape or dtype. Ascending by first tensor.
std::vector<StackedTensors> StackExperts(const JobRecords& job,
                                         const std::vector<PlacedTensors>& placed);

}  // namespace reshard
