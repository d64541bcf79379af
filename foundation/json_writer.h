// JSON text of a value.
#pragma once

#include <string>

#include "foundation/json_value.h"

namespace reshard {

// Compact: no spaces, keys sorted bytewise at every level, numbers in shortest round-trip form.
// Values that differ only in formatting or order of fields give equal text.
std::string CanonicalJson(const JsonValue& value);

// On one line, in document order, a space after ',' and ':'.
std::string JsonLine(const JsonValue& value);

}  // namespace reshard
