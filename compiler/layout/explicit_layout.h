// Explicit layouts: what each rank of a group holds, said by meshes, rules, parameters and regions.
#pragma once

#include <cstdint>

#include "compiler/layout/layout_builder.h"

namespace reshard {

// `fields` is the object behind "explicit". Ranks whose coordinates agree on every axis that cuts
// anything share one layout. Errors name the entry and the tensor or parameter.
Result<GroupLayout> BuildExplicitLayout(const Model& model, const JsonCursor& fields,
                                        std::int64_t rank_count);

}  // namespace reshard
