// A job file, together with what every rank must hold if it is understood as meant.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedules/dtype.h"
#include "tests/end_to_end/naive_array.h"

namespace reshard {

struct NaiveParameter {
  std::string name;
  DType dtype = DType::kBF16;
  NaiveArray content;
};

// Per GPU, the parameters it holds; a GPU that is of a side and holds nothing is there.
using NaiveSide = std::map<std::int32_t, std::vector<NaiveParameter>>;

struct NaiveJob {
  std::string job_json;    // its "model" is the file model.json beside it
  std::string model_json;  // a tensor list; naive arrays number its tensors by name, bytewise
  NaiveSide source;
  NaiveSide destination;
};

}  // namespace reshard
