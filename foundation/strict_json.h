// The one strict JSON reader: cluster.json, job.json, explicit layouts, families, other tools'
// files.
//
// Refused with file and place: a syntax error (trailing text, comments, NaN and invalid UTF-8 are
// such), duplicate keys, nesting beyond the limit, numbers beyond a double's range, and more bytes
// or values than the limits allow; a file of brackets is refused by its first 65. Unknown fields,
// wrong types and integers that do not fit 64 bits signed are refused by JsonCursor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/error.h"
#include "foundation/json_cursor.h"
#include "foundation/json_value.h"

namespace reshard {

struct JsonLimits {
  std::int64_t bytes = std::int64_t{256} << 20;
  std::int64_t depth = 64;  // arrays and objects within each other
  // Bounds memory: an element costs up to 72 bytes here and may be 2 in the file.
  std::int64_t values = std::int64_t{1} << 24;
};

// The file at `path`; its size is checked before it is read.
Result<JsonDocument> ReadJsonFile(const std::string& path, const JsonLimits& limits = {});

// `text` as a document that errors call `name`.
Result<JsonDocument> ParseJson(std::string_view text, std::string name,
                               const JsonLimits& limits = {});

}  // namespace reshard
