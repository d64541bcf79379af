// Parameters that are made of several tensors: patterns -> one instance per value of the
// pieces.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/layout/explicit_words.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"

namespace reshard {

struct JoinedParameter {
  std::size_t entry = 0;  // of "parameters"
  std::string name;
  std::vector<std::vector<TensorIndex>> leaves;  // of each of PatternsOf(), in the order it runs
  std::vector<TensorIndex> parts;                // all of them
};

// A piece of the name takes every value its parts are found with; one that stands in a part alone
// runs over its values in ascending order, there and then. Errors: parts that match no tensor, a
// part that is missing for some value, a piece of the name that no part has.
Result<std::vector<JoinedParameter>> ExpandParameters(
    const Model& model, const std::vector<ExplicitParameter>& entries);

}  // namespace reshard
