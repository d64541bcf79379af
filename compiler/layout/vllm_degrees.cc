#include "compiler/layout/vllm_degrees.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "compiler/layout/stage_layers.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {

Result<VllmDegrees> ReadVllmDegrees(const JsonCursor& fields, std::int64_t rank_count) {
  const Result<void> known = fields.ExpectFields(kVllmFields);
  if (!known) return tl::unexpected(known.error());
  VllmDegrees degrees;
  for (const auto& [name, degree] :
       {std::pair{"tensor", &degrees.tensor}, std::pair{"pipeline", &degrees.pipeline},
        std::pair{"data", &degrees.data}}) {
    const Result<std::int64_t> value = fields.IntegerOr(name, 1, kPositiveInteger);
    if (!value) return tl::unexpected(value.error());
    *degree = *value;
  }
  const std::optional<std::int64_t> engine =
      CheckedProduct(std::array{degrees.tensor, degrees.pipeline, degrees.data});
  if (!engine || rank_count % *engine != 0) {
    return fields.Fail("tensor x pipeline x data = " + std::to_string(degrees.tensor) + " x " +
                       std::to_string(degrees.pipeline) + " x " + std::to_string(degrees.data) +
                       " does not divide the " + std::to_string(rank_count) + " GPUs of the group");
  }
  degrees.engines = rank_count / *engine;
  const Result<bool> expert_parallel = fields.BoolOr("expertParallel", false);
  if (!expert_parallel) return tl::unexpected(expert_parallel.error());
  degrees.expert_parallel = *expert_parallel;
  const Result<std::string> placement = fields.StringOr("expertPlacement", "linear");
  if (!placement) return tl::unexpected(placement.error());
  if (*placement != "linear" && *placement != "roundRobin") {
    return fields.Field("expertPlacement")
        ->Fail("unknown placement '" + *placement + "'", "known are 'linear', 'roundRobin'");
  }
  degrees.round_robin = *placement == "roundRobin";
  Result<std::string> backend = fields.StringOr("moeBackend", degrees.moe_backend);
  if (!backend) return tl::unexpected(backend.error());
  degrees.moe_backend = *std::move(backend);
  constexpr std::int64_t kMaxRedundant = 100'000;
  const Result<std::int64_t> redundant =
      fields.IntegerOr("redundantExperts", 0, {0, kMaxRedundant});
  if (!redundant) return tl::unexpected(redundant.error());
  degrees.redundant_experts = *redundant;
  if (degrees.redundant_experts > 0 && !degrees.expert_parallel) {
    return fields.Field("redundantExperts")
        ->Fail("experts that are cut over the ranks have no copies", "set expertParallel");
  }
  return degrees;
}

VllmCoordinates PlaceVllmRank(const VllmDegrees& degrees, std::int64_t rank, bool has_experts) {
  VllmCoordinates at;
  at.tensor = rank % degrees.tensor;
  rank /= degrees.tensor;
  at.pipeline = rank % degrees.pipeline;
  rank /= degrees.pipeline;
  if (has_experts) at.expert = at.tensor + degrees.tensor * (rank % degrees.data);
  return at;
}

Result<std::vector<std::int64_t>> PlaceVllmLayers(const JsonCursor& fields,
                                                  std::int64_t stage_count,
                                                  std::int64_t layer_count) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(stage_count),
                                   layer_count / stage_count);
  // Stages P-2, P-3, .. take one more; the last one has the LM head.
  for (std::int64_t i = 0; i < layer_count % stage_count; ++i) {
    ++counts[static_cast<std::size_t>(stage_count - 2 - i)];
  }
  return FirstLayers(fields, counts, layer_count);
}

Result<std::vector<std::int64_t>> ExpertsOfVllmRank(const VllmDegrees& degrees,
                                                    std::int64_t expert_rank,
                                                    std::int64_t expert_count,
                                                    std::int64_t expert_groups,
                                                    const JsonCursor& fields) {
  std::vector<std::int64_t> experts;
  if (!degrees.expert_parallel) {
    for (std::int64_t expert = 0; expert < expert_count; ++expert) experts.push_back(expert);
    return experts;
  }
  const std::int64_t ranks = degrees.expert_ranks();
  if (degrees.redundant_experts > 0) {
    const std::int64_t slots = expert_count + degrees.redundant_experts;
    if (slots % ranks != 0) {
      return fields.Fail(std::to_string(expert_count) + " experts and " +
                         std::to_string(degrees.redundant_experts) +
                         " redundant ones do not divide by the " + std::to_string(ranks) +
                         " ranks");
    }
    for (std::int64_t slot = slots / ranks * expert_rank; slot < slots / ranks * (expert_rank + 1);
         ++slot) {
      experts.push_back(slot < expert_count ? slot : (slot - expert_count) % expert_count);
    }
    return experts;
  }
  if (degrees.round_robin && expert_groups > 1) {
    for (std::int64_t expert = expert_rank; expert < expert_count; expert += ranks) {
      experts.push_back(expert);
    }
    return experts;
  }
  // The first expert_count % ranks ranks hold one more.
  const std::int64_t each = expert_count / ranks;
  const std::int64_t more = expert_count % ranks;
  const std::int64_t begin = expert_rank * each + std::min(expert_rank, more);
  const std::int64_t end = begin + each + (expert_rank < more ? 1 : 0);
  for (std::int64_t expert = begin; expert < end; ++expert) experts.push_back(expert);
  return experts;
}

}  // namespace reshard
