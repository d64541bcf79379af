// Hugging Face config.json -> the tensors of the published checkpoint of a known family.
#pragma once

#include "compiler/layout/family.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

// The model whose config.json stands at `config`: its tensors by name, its family, and a copy of
// the config. Unknown fields are ignored. Errors: an unknown model_type (naming the known ones), a
// field that the family's shapes need and that is missing.
Result<Model> ModelFromConfig(const JsonCursor& config);
// The same by a given family, whatever the model_type.
Result<Model> ModelFromConfig(const JsonCursor& config, const Family& family);

}  // namespace reshard
