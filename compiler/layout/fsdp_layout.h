// The layout of a trainer that wraps a Hugging Face model in FSDP2 (HSDP with
// replicate > 1), with tensor, expert and pipeline parallelism under it.
//
// Parameters carry Hugging Face's names. Tensor parallelism cuts as DTensor's
// plans for these models do: rows of q, k, v, gate, up, of the embedding and
// the LM head, columns of o and down; norms, routers and the down projections
// of latent attention stay whole.
#pragma once

#include "compiler/layout/layout_builder.h"

namespace reshard {

// Fields: those of ReadFsdpDegrees, "names" (ReadHuggingfaceNames),
// "layersPerStage". A model without known family is enough where FSDP alone
// cuts. Layers of multi-token prediction belong to no model that transformers
// builds, and are left out. Errors, beside those of ReadFsdpDegrees and
// HeldBlock: layers that do not divide by the stages, a tensor whose
// tensor-parallel cut is not known, block scales that tensor parallelism would
// cut.
Result<GroupLayout> BuildFsdpLayout(const Model& model, const JsonCursor& fields,
                                    std::int64_t rank_count);

}  // namespace reshard
