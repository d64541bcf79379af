// The layout of a Megatron-LM trainer (Transformer Engine modules, one buffer per expert).
//
// Parameters carry Megatron's names with layer and expert numbers of the whole model where Megatron
// counts from 0 on each stage: "decoder.layers.20.mlp.experts.linear_fc1.weight33". Scales of
// block-scaled FP8 weights are the weight's "._rowwise_scale_inv", columns padded to a multiple of
// 4 as Transformer Engine stores them.
#pragma once

#include "compiler/layout/layout_builder.h"

namespace reshard {

// Fields: those of ReadMegatronDegrees and PlaceMegatronLayers. Builds one layout for each distinct
// (stage, tensor, expertTensor, expert) coordinate.
Result<GroupLayout> BuildMegatronLayout(const Model& model, const JsonCursor& fields,
                                        std::int64_t rank_count);

}  // namespace reshard
