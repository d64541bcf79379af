// Which layer Megatron keeps on which pipeline stage.
#pragma once

#include <cstdint>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

struct MegatronStages {
  std::vector<std::int64_t> of_layer;  // stage of each main layer
  std::int64_t mtp = 0;                // stage of the layers of multi-token prediction
  // The embedding is on stage 0, final norm and LM head on the last.
  bool operator==(const MegatronStages&) const = default;
};

// `fields` as in a job, with at most one of
// - nothing: even; layers must divide by stages (times virtualStages). With accountForEmbedding
//   and/or accountForLoss the embedding and the loss count as a layer each, and the first and the
//   last chunk have one layer less;
// - layersPerStage: one count for each stage, or for each chunk (stage s, chunk k at k * stages +
// s);
// - firstStageLayers and/or lastStageLayers: the rest even over the other stages;
// - pipelineLayout: Megatron's string, "Et*16|(t*16|)*2t*13mL": E embedding, t layer, m layer of
//   multi-token prediction, L loss, | next chunk; (..)*n and x*n repeat.
// Sources: transformer/transformer_block.py get_num_layers_to_build, transformer_layer.py
// get_transformer_layer_offset, pipeline_parallel_layer_layout.py, all under megatron/core.
Result<MegatronStages> PlaceMegatronLayers(const JsonCursor& fields, std::int64_t stage_count,
                                           std::int64_t layer_count, std::int64_t mtp_layer_count);

}  // namespace reshard
