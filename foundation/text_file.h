// A whole file as text, of bounded size.
#pragma once

#include <cstdint>
#include <string>

#include "foundation/error.h"

namespace reshard {

// The bytes of the file or pipe at `path`; an error beyond `limit_bytes`, of which no more than one
// piece is ever read.
Result<std::string> ReadTextFile(const std::string& path, std::int64_t limit_bytes);

}  // namespace reshard
