// The header of a .safetensors file: 8 bytes of length, little endian, then as many of JSON.
#pragma once

#include <cstdint>
#include <string>

#include "foundation/error.h"
#include "foundation/json_value.h"

namespace reshard {

struct SafetensorsHeader {
  JsonDocument document;        // named "PATH: header" in errors
  std::int64_t data_begin = 0;  // of the file: where data_offsets count from
  std::int64_t data_bytes = 0;  // to the end of the file
};

// Errors: no such file, a length beyond the file or beyond 100 MB (the format's own limit), JSON
// that is none. The tensors' bytes are not read.
Result<SafetensorsHeader> ReadSafetensorsHeader(const std::string& path);

}  // namespace reshard
