#include "tests/end_to_end/case_job.h"

#include <algorithm>
#include <cstddef>

namespace reshard {
namespace {

std::string SideText(const CaseSide& side) {
  return R"({"gpus": ")" + std::to_string(side.first_gpu) + "-" +
         std::to_string(side.first_gpu + side.ranks - 1) + R"(", "layout": {"explicit": )" +
         side.layout + "}}";
}

NaiveSide HeldBy(const CaseSide& side) {
  NaiveSide held;
  for (std::int32_t rank = 0; rank < side.ranks; ++rank) {
    held[side.first_gpu + rank] = side.held(rank);
  }
  return held;
}

}  // namespace

std::string ListText(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return "[" + text + "]";
}

NaiveArray Whole(const std::vector<CaseTensor>& tensors, std::int32_t tensor) {
  return WholeArray(tensor, tensors[static_cast<std::size_t>(tensor)].shape);
}

NaiveJob MakeCase(const std::vector<CaseTensor>& tensors, const CaseSide& source,
                  const CaseSide& destination, const std::string& options) {
  NaiveJob job;
  for (const CaseTensor& tensor : tensors) {
    job.model_json += (job.model_json.empty() ? "{\"" : ", \"") + tensor.name + R"(": {"shape": )" +
                      ListText(tensor.shape) + R"(, "dtype": ")" + std::string(Name(tensor.dtype)) +
                      "\"}";
  }
  job.model_json += "}";
  const std::int32_t gpus =
      std::max(source.first_gpu + source.ranks, destination.first_gpu + destination.ranks);
  job.job_json = R"({"cluster": {"domains": [{"type": "dgx-h100", "count": )" +
                 std::to_string((gpus + 7) / 8) + R"(}]}, "model": "model.json", "source": )" +
                 SideText(source) + R"(, "destination": )" + SideText(destination) +
                 R"(, "options": )" + options + "}";
  job.source = HeldBy(source);
  job.destination = HeldBy(destination);
  return job;
}

}  // namespace reshard
