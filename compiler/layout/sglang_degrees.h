// SGLang's parallel degrees, and where a rank stands.
//
// `tensor` counts all ranks of one pipeline stage, whatever they do for attention and experts:
// rank = tp + T * (pipeline + P * replica). Within a stage
//   tp = (attentionData rank * attentionContext + its rank) * attentionTensor + its rank
//   tp = (expertData rank * expert + its rank) * expertTensor + its rank
// where attentionTensor = T / (attentionData * attentionContext) and expertTensor = T / (expert *
// expertData) follow (srt/distributed/parallel_state.py initialize_model_parallel).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

// What may stand behind "sglang" in a job.
inline constexpr auto kSglangFields = std::to_array<std::string_view>(
    {"tensor", "pipeline", "attentionData", "attentionContext", "expert", "expertData",
     "denseTensor", "layersPerStage", "sharedExperts", "expertRows", "replicatedEmbedding",
     "lmHeadOverAttention"});

// How a rank keeps the experts that every token passes.
enum class SglangSharedExperts : std::uint8_t {
  kUnstated,    // cut, unless the engine might append them: then it must be said
  kTensor,      // a dense MLP over `tensor`
  kReplicated,  // whole on every rank
  kAppended,    // one more slot of the expert stacks
};

struct SglangDegrees {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t attention_data = 1;
  std::int64_t attention_context = 1;
  std::int64_t expert = 1;
  std::int64_t expert_data = 1;
  std::int64_t dense_tensor = 1;      // of the MLPs of dense layers: 1, or `tensor` if not given
  std::int64_t attention_tensor = 1;  // derived
  std::int64_t expert_tensor = 1;     // derived
  std::int64_t replicas = 1;          // derived: GPUs / (tensor * pipeline), independent engines
  SglangSharedExperts shared_experts = SglangSharedExperts::kUnstated;
  bool up_first = false;                // runners that load up rows before gate rows
  bool replicated_embedding = false;    // else over attentionTensor
  bool lm_head_over_attention = false;  // else over tensor
};

// What decides over the contents of a rank; its replicas have equal coordinates.
struct SglangCoordinates {
  std::int64_t pipeline = 0;
  std::int64_t tensor = 0;
  std::int64_t attention_tensor = 0;
  std::int64_t expert = 0;
  std::int64_t expert_tensor = 0;
  auto operator<=>(const SglangCoordinates&) const = default;
};

// Errors: unknown fields and values, degrees below 1, products that do not divide the degree they
// are of, a denseTensor other than 1 and `tensor`.
Result<SglangDegrees> ReadSglangDegrees(const JsonCursor& fields, std::int64_t rank_count);

SglangCoordinates PlaceSglangRank(const SglangDegrees& degrees, std::int64_t rank);

// First layer of each stage, and the layer count behind: even, what is left over one each to the
// last stages (srt/distributed/utils.py get_pp_indices), or `layersPerStage`.
Result<std::vector<std::int64_t>> PlaceSglangLayers(const JsonCursor& fields,
                                                    std::int64_t stage_count,
                                                    std::int64_t layer_count);

}  // namespace reshard
