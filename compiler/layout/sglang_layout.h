// The layout of SGLang engines, as loaded.
//
// Parameters carry SGLang's names; its layer numbers are those of the model. What only the engine's
// machine or flags decide is a field: where shared experts lie, whether up or gate rows come first
// in the stacks of experts, whether embedding and LM head follow attention's ranks. Runners that
// store experts input-major or shuffled after loading are not the target of a refit.
#pragma once

#include "compiler/layout/layout_builder.h"

namespace reshard {

// Fields: those of ReadSglangDegrees and PlaceSglangLayers. Builds one layout for each distinct
// (stage, tensor) coordinate. Layers of multi-token prediction belong to a draft model: no rank of
// the main one holds them.
Result<GroupLayout> BuildSglangLayout(const Model& model, const JsonCursor& fields,
                                      std::int64_t rank_count);

}  // namespace reshard
