// The layout of a torchtitan trainer.
//
// Parameters carry torchtitan's names with layer numbers of the whole model
// (torchtitan/models/*/state_dict_adapter.py):
// "layers.3.attention.qkv_linear.wq.weight". Gate, up and down are w1, w3 and
// w2; experts are stacks. llama's wq and wk have their rows permuted within a
// head, rotary pairs side by side.
#pragma once

#include "compiler/layout/layout_builder.h"

namespace reshard {

// Fields: those of ReadFsdpDegrees and PlaceTorchtitanLayers, "fusedQkv" (wqkv
// in one, per group of one key-value head its query heads, key, value). Layers
// of multi-token prediction are left out. Errors, beside those of
// ReadFsdpDegrees and HeldBlock: a tensor torchtitan has no parameter for,
// heads that tensor parallelism does not divide, layers that list some experts
// only.
Result<GroupLayout> BuildTorchtitanLayout(const Model& model, const JsonCursor& fields,
                                          std::int64_t rank_count);

}  // namespace reshard
