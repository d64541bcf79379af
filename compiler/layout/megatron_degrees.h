// Megatron's parallel degrees and where a rank stands in its two grids.
//
// Megatron lays two grids over the same ranks (megatron/core/parallel_state.py, RankGenerator):
// dense parameters tensor x context x data x pipeline, expert parameters expertTensor x expert x
// expertData x pipeline. Expert parallelism is no factor of the world: it lies over the ranks of a
// stage. `order` lists the axes of both, the fastest first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

// What may stand behind "megatron" in a job.
inline constexpr auto kMegatronFields = std::to_array<std::string_view>(
    {"tensor", "context", "pipeline", "expert", "expertTensor", "data", "expertData", "order",
     "mtp", "paddedVocabulary", "layersPerStage", "firstStageLayers", "lastStageLayers",
     "virtualStages", "pipelineLayout", "accountForEmbedding", "accountForLoss"});

struct MegatronDegrees {
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t pipeline = 1;
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 1;  // as `tensor` if not given, as in Megatron
  std::int64_t data = 1;           // derived: ranks / (tensor * context * pipeline)
  std::int64_t expert_data = 1;    // derived: ranks / (expert_tensor * expert * pipeline)
  std::vector<std::string> order;  // a permutation of tp, cp, ep, dp, pp
  bool mtp = false;                // holds the layers of multi-token prediction
  std::optional<std::int64_t> padded_vocabulary;  // rows of embedding and LM head, all ranks'
};

// What decides over the contents of a rank; its replicas have equal coordinates.
struct MegatronCoordinates {
  std::int64_t pipeline = 0;
  std::int64_t tensor = 0;
  std::int64_t expert_tensor = 0;
  std::int64_t expert = 0;
  auto operator<=>(const MegatronCoordinates&) const = default;
};

// Errors: unknown fields, degrees below 1, products that do not divide `rank_count`, `data` or
// `expertData` that contradict it, an `order` that is no permutation.
Result<MegatronDegrees> ReadMegatronDegrees(const JsonCursor& fields, std::int64_t rank_count);

// Of each rank, in rank order. An error if the two grids disagree on a rank's stage.
Result<std::vector<MegatronCoordinates>> PlaceMegatronRanks(const MegatronDegrees& degrees,
                                                            std::int64_t rank_count,
                                                            const JsonCursor& fields);

}  // namespace reshard
