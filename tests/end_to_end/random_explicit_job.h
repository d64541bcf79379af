// Random job files with explicit layouts, together with what every rank must then hold.
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

struct RandomExplicitJob {
  std::string job_json;    // its "model" is the file model.json beside it
  std::string model_json;  // a tensor list
  // In the order of names, as the job's records number them.
  std::vector<DType> tensor_dtypes;
  // Per side and GPU, the parameters it holds; a GPU that is of the side and holds nothing is
  // there.
  std::map<std::int32_t, std::vector<NaiveParameter>> source;
  std::map<std::int32_t, std::vector<NaiveParameter>> destination;
};

// Meshes of up to three axes over all or some ranks of a group, every kind of cut, one to three
// groups a side, fused parameters cut before or after joining, regions with strides and padding;
// sides that are disjoint, overlap or coincide.
RandomExplicitJob MakeRandomExplicitJob(std::uint64_t seed);

}  // namespace reshard
