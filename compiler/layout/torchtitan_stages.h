// Which layer torchtitan keeps on which pipeline rank.
#pragma once

#include <cstdint>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

struct TorchtitanStages {
  std::vector<std::int64_t> of_layer;  // pipeline rank of each main layer
  std::int64_t first = 0;              // of the embedding
  std::int64_t last = 0;               // of final norm and LM head
  bool operator==(const TorchtitanStages&) const = default;
};

// There are `pipeline` * virtualStages stages. Without "layersPerStage" (one
// count for each stage) embedding and head weigh one layer each, and the first
// stages take what is left over (torchtitan/distributed/pipeline_parallel.py).
// Stage s is on rank s % pipeline ("stageOrder": "loop", the default), or rank
// p has stages p and 2 * pipeline - 1 - p ("v", two stages a rank). Errors:
// more stages than layers and ends, counts that do not add up, "v" with other
// than two.
Result<TorchtitanStages> PlaceTorchtitanLayers(const JsonCursor& fields, std::int64_t pipeline,
                                               std::int64_t layer_count);

}  // namespace reshard
