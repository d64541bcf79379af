// --set path=value: edits of a document before it is understood.
#pragma once

#include <string_view>

#include "foundation/error.h"
#include "foundation/json_value.h"

namespace reshard {

// Sets the value at `path` of `document`: names and element indices joined by dots, a name with
// dots in double quotes ("options.stagingMiB", "destination.0.gpus", "model.\"a.weight\".dtype").
// Objects missing on the way are made; array elements must exist. `value` is parsed as JSON where
// it is JSON, else taken as a string; what begins like an object, array or string must be JSON.
Result<void> SetJson(JsonDocument& document, std::string_view path, std::string_view value);

}  // namespace reshard
