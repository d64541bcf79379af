// Models from files: tensor lists, safetensors headers and indices, Hugging Face configs.
#pragma once

#include "compiler/layout/folder.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

// The model that `value` is: a path, in `folder`, of
//   - a .safetensors file, of which the header alone is read,
//   - a model.safetensors.index.json with its shards beside it,
//   - a Hugging Face config.json of a known family (it has "model_type"),
//   - {"tensors": .., "family": .., "config": ..}; tensors may be missing where family and config,
//     or config alone, imply them,
//   - a tensor list {name: {"shape": [..], "dtype": "BF16"}};
// or one of the last three as an object. Other keys of a tensor's entry and "__metadata__" are
// ignored. "tensors" and "config" of the fourth form may be paths themselves. "family" is the name
// of a known one, or the path (it ends in .json) or the object of one of the user's own.
Result<Model> ReadModel(const JsonCursor& value, const Folder& folder);

}  // namespace reshard
