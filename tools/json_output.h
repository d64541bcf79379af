// What a command prints under --json: one object, each field on its own line so that two outputs
// compare by line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "foundation/json_value.h"

namespace reshard {

// Fields in the order of `fields`, numbers in their shortest form that reads back equal, bytes that
// are no UTF-8 as U+FFFD. Ends with a line break.
std::string JsonReport(const JsonValue::Object& fields);

JsonValue JsonList(const std::vector<std::string>& texts);

// null where there is no value.
JsonValue JsonOrNull(const std::optional<double>& value);

}  // namespace reshard
