// Which layers a pipeline stage holds, where stages hold contiguous ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

// First layer of each stage, and the layer count behind: of the counts in `layersPerStage` of
// `fields`, or of `otherwise` where it is not given. There is one stage for each count of
// `otherwise`, whose sum is `layer_count` (precondition). Errors: another number of counts, counts
// that do not add up to the layers.
Result<std::vector<std::int64_t>> FirstLayers(const JsonCursor& fields,
                                              std::span<const std::int64_t> otherwise,
                                              std::int64_t layer_count);

}  // namespace reshard
