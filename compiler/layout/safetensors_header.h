// The header of a .safetensors file: 8 bytes of length, little endian, then as many of JSON.
#pragma once

#include <string>

#include "foundation/error.h"
#include "foundation/json_value.h"

namespace reshard {

// The header's JSON, named "PATH: header" in errors. Errors: no such file, a length beyond the
// file or beyond 100 MB (the format's own limit), JSON that is none. The tensors' bytes are not
// read.
Result<JsonDocument> ReadSafetensorsHeader(const std::string& path);

}  // namespace reshard
