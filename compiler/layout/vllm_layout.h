// The layout of vLLM engines, as loaded.
//
// Parameters carry vLLM's names; its layer numbers are those of the model. What vLLM makes of them
// after loading (kernels' own formats, W_UK_T and W_UV of latent attention) is not the target of a
// refit: it must be made again after each.
#pragma once

#include "compiler/layout/layout_builder.h"

namespace reshard {

// Fields: those of ReadVllmDegrees and PlaceVllmLayers. Builds one layout for each distinct (stage,
// tensor, expert) coordinate. Layers of multi-token prediction belong to a draft model: no rank of
// the main one holds them.
Result<GroupLayout> BuildVllmLayout(const Model& model, const JsonCursor& fields,
                                    std::int64_t rank_count);

}  // namespace reshard
