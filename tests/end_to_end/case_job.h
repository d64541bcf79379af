// Small jobs written out by hand: two sides with explicit layouts, and what their ranks hold.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schedules/dtype.h"
#include "tests/end_to_end/naive_job.h"

namespace reshard {

struct CaseTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kBF16;
};

// GPUs [first_gpu, first_gpu + ranks) with the explicit layout `layout` (the object as JSON text).
struct CaseSide {
  std::int32_t first_gpu = 0;
  std::int32_t ranks = 1;
  std::string layout;
  std::function<std::vector<NaiveParameter>(std::int32_t rank)> held;  // by rank of the side
};

// A job of both sides on nodes of eight GPUs. `tensors` ascend by name, as naive arrays number
// them. `options` is the job's, as JSON text.
NaiveJob MakeCase(const std::vector<CaseTensor>& tensors, const CaseSide& source,
                  const CaseSide& destination, const std::string& options = "{}");

// The whole tensor number `tensor` of `tensors`.
NaiveArray Whole(const std::vector<CaseTensor>& tensors, std::int32_t tensor);

// "[8, 6]".
std::string ListText(const std::vector<std::int64_t>& numbers);

}  // namespace reshard
