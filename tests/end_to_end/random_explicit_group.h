// A random group of GPUs with an explicit layout, together with what every rank of it then holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "foundation/json_value.h"
#include "tests/compiler/random_draws.h"
#include "tests/end_to_end/naive_job.h"

namespace reshard {

struct NaiveTensor {
  std::string name;
  DType dtype = DType::kBF16;
  std::vector<std::int64_t> shape;
  std::int32_t family = -1;  // tensors of one family can be joined along `concat`
  std::size_t concat = 0;
};

struct RandomGroup {
  JsonValue::Object words;                        // as a side of a job file says them
  std::vector<std::vector<NaiveParameter>> held;  // by rank of the group
};

RandomGroup MakeRandomGroup(RandomDraws& draws, const std::vector<NaiveTensor>& tensors,
                            const std::vector<std::int32_t>& gpus);

}  // namespace reshard
