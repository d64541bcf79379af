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

// The same for all that a command writes, none of which may be one of its inputs, nor another of
// them. Empty names among both are files that nobody asked for.
Result<void> CheckOutputPaths(std::span<const std::string> paths,
                              std::span<const std::string> input_paths);

// Writes `contents` beside `path` and renames, so that an older file stays until the new one is
// whole. Returns the bytes written.
Result<std::int64_t> WriteWholeFile(const std::string& path, std::string_view contents);
// The same with the contents in pieces.
Result<std::int64_t> WriteWholeFile(const std::string& path,
                                    std::span<const std::string_view> pieces);

}  // namespace reshard
