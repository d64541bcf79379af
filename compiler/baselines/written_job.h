// The job as its author wrote it: what other planners know beyond tensors and their boxes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/job/job.h"
#include "foundation/error.h"

namespace reshard {

// Where one rank stands on one side.
struct WrittenPlace {
  // Pipeline stage; stages of a side's groups are numbered one after another.
  std::int64_t stage = 0;
  // Ranks of equal numbers are one data-parallel group: they hold the same dense tensors, or the
  // same experts, and are grouped by the framework as each other's replicas. -1: not of the side.
  std::int64_t dense_group = -1;
  std::int64_t expert_group = -1;
};

struct WrittenSide {
  std::int64_t stages = 1;
  std::vector<WrittenPlace> places;  // per rank of the job
};

// Reads one side ("source" or "destination") of job.canonical_json. A megatron group has its stages
// and data-parallel groups (dense: equal tensor rank and stage; expert: equal expertTensor rank,
// expert rank and stage), a vllm group its stages. Ranks of all other groups, and of a job whose
// text has no such side, are of one stage, and those of one layout are one data-parallel group.
Result<WrittenSide> ReadWrittenSide(const Job& job, std::string_view side);

// Whether a tensor is (of) an expert: ".experts." stands in its name.
bool IsExpert(std::string_view tensor_name);

}  // namespace reshard
