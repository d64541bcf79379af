// Embedding and LM head of vocabularies that are stored with padding.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/layout/family_linear.h"
#include "compiler/layout/family_tensors.h"
#include "foundation/error.h"

namespace reshard {

// Share `index` of `count` of the rows of `table`, stored as `stored` rows: the padding lies at the
// end, so that the last shares have fewer real rows, or none. `stored` is at least the rows there
// are (precondition). An error, naming `what`, if count does not divide `stored`.
Result<LinearCut> VocabularyRows(const FamilyTensors& model, const RoleTensors& table,
                                 std::int64_t stored, std::int64_t count, std::int64_t index,
                                 const std::string& what);

}  // namespace reshard
