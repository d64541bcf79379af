// The parameters of a model as Hugging Face names them, in either of its two
// generations.
#pragma once

#include <vector>

#include "compiler/layout/family_tensors.h"
#include "compiler/layout/whole_parameter.h"
#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

enum class HuggingfaceNames : std::uint8_t {
  kPublished,  // as in checkpoints: one tensor for each expert
  kMemory,     // as transformers 5 holds models: stacks [experts, ..], gate rows
               // before up rows
};

// The field "names" of a job: "published" (default) or "memory".
Result<HuggingfaceNames> ReadHuggingfaceNames(const JsonCursor& fields);

// Every tensor of the model as its own parameter, with its role; multi-token
// prediction included.
std::vector<WholeParameter> PublishedParameters(const FamilyTensors& model);

// The same in memory (transformers conversion_mapping.py): the experts of a
// layer are two stacks, mlp.experts.gate_up_proj and mlp.experts.down_proj;
// layers of multi-token prediction are left out. Errors: a layer that lists
// some of its experts only, scales that do not stack, and the router's weight
// where transformers keeps it as F32 and the model lists another dtype.
Result<std::vector<WholeParameter>> MemoryParameters(const FamilyTensors& model);

}  // namespace reshard
