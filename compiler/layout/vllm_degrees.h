// vLLM's parallel degrees, and where a rank stands.
//
// rank = tensor + T * (pipeline + P * (data + D * engine)); the experts of a stage lie over all its
// tensor and data ranks, q = tensor + T * data (vllm/distributed/parallel_state.py,
// config/parallel.py).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

// What may stand behind "vllm" in a job.
inline constexpr auto kVllmFields = std::to_array<std::string_view>(
    {"tensor", "pipeline", "data", "expertParallel", "layersPerStage", "expertPlacement",
     "redundantExperts", "moeBackend"});

struct VllmDegrees {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;         // in-engine data parallelism
  bool expert_parallel = false;  // whole experts over tensor * data, else each cut over them
  bool round_robin = false;      // how whole experts are dealt out
  std::int64_t redundant_experts = 0;
  std::string moe_backend = "triton";  // vLLM's moe_backend; triton keeps experts as loaded
  bool up_first = false;               // derived: that backend keeps up rows before gate rows
  std::int64_t engines = 1;            // derived: GPUs / (tensor * pipeline * data)

  std::int64_t expert_ranks() const { return tensor * data; }
};

// What decides over the contents of a rank; its replicas have equal coordinates.
struct VllmCoordinates {
  std::int64_t pipeline = 0;
  std::int64_t tensor = 0;
  std::int64_t expert = 0;  // q
  auto operator<=>(const VllmCoordinates&) const = default;
};

// Errors: unknown fields, degrees below 1, a product that does not divide `rank_count`, redundant
// experts without expertParallel.
Result<VllmDegrees> ReadVllmDegrees(const JsonCursor& fields, std::int64_t rank_count);

// Of rank `rank` of the group. `expert` is 0 for a model without experts, whose data ranks are
// replicas.
VllmCoordinates PlaceVllmRank(const VllmDegrees& degrees, std::int64_t rank, bool has_experts);

// First layer of each stage, and the layer count behind: even, what is left over one each to the
// stages before the last (distributed/utils.py get_pp_indices), or `layersPerStage`.
Result<std::vector<std::int64_t>> PlaceVllmLayers(const JsonCursor& fields,
                                                  std::int64_t stage_count,
                                                  std::int64_t layer_count);

// The logical experts of expert rank `expert_rank`, in the order of its slots. Round robin counts
// only with grouped routing and without redundant experts, else vLLM deals linearly without a word
// (layers/fused_moe/expert_map_manager.py determine_expert_map; distributed/eplb/eplb_state.py
// build_initial_global_physical_to_logical_map).
Result<std::vector<std::int64_t>> ExpertsOfVllmRank(const VllmDegrees& degrees,
                                                    std::int64_t expert_rank,
                                                    std::int64_t expert_count,
                                                    std::int64_t expert_groups,
                                                    const JsonCursor& fields);

}  // namespace reshard
