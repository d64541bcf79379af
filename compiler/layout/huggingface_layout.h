// The layout of a model that one rank holds whole, as Hugging Face names it.
#pragma once

#include "compiler/layout/layout_builder.h"

namespace reshard {

// Fields: "names" (ReadHuggingfaceNames). Published names need no family: each
// tensor is its own parameter. Errors: more than one rank.
Result<GroupLayout> BuildHuggingfaceLayout(const Model& model, const JsonCursor& fields,
                                           std::int64_t rank_count);

}  // namespace reshard
