// Files that commands write: whole or not there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "foundation/error.h"

namespace reshard {

// Says before the work begins what would keep a file from being written at `path` after it: a
// directory that is not there, a directory or device in its place, or the very file that is the
// input.
Result<void> CheckOutputPath(const std::string& path, const std::string& input_path);

// Writes `contents` beside `path` and renames, so that an older file stays until the new one is
// whole. Returns the bytes written.
Result<std::int64_t> WriteWholeFile(const std::string& path, std::string_view contents);
// The same with the contents in pieces.
Result<std::int64_t> WriteWholeFile(const std::string& path,
                                    std::span<const std::string_view> pieces);

}  // namespace reshard
