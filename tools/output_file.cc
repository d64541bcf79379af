#include "tools/output_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace reshard {
namespace {

tl::unexpected<Error> CannotWrite(const std::string& path, int code) {
  return InputError(path, std::string("cannot be written: ") + std::strerror(code));
}

}  // namespace

Result<void> CheckOutputPath(const std::string& path, const std::string& input_path) {
  if (path.empty()) return InputError("", "the output file has an empty name", "name a file");
  std::error_code ignored;  // what cannot be asked is found out when the file is written
  if (std::filesystem::is_directory(path, ignored)) {
    return InputError(path, "is a directory", "name a file in it");
  }
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    // Renaming onto a device would replace it.
    return InputError(path, "is no regular file", "name another file");
  }
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, ignored)) {
    return InputError(path, "its directory does not exist", "make it first");
  }
  if (std::filesystem::equivalent(path, input_path, ignored)) {
    return InputError(path, "is the input file", "name another file");
  }
  return {};
}

Result<void> CheckOutputPaths(std::span<const std::string> paths,
                              std::span<const std::string> input_paths) {
  std::vector<std::filesystem::path> known;
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    for (const std::string& input : input_paths) {
      if (Result<void> fine = CheckOutputPath(path, input); !fine) return fine;
    }
    std::error_code unknown;  // then the name as it stands is what can be compared
    std::filesystem::path resolved =
        std::filesystem::weakly_canonical(std::filesystem::absolute(path, unknown), unknown);
    if (unknown) resolved = path;
    if (std::ranges::find(known, resolved) != known.end()) {
      return InputError(path, "is the name of two outputs", "name another file for one of them");
    }
    known.push_back(std::move(resolved));
  }
  return {};
}

Result<std::int64_t> WriteWholeFile(const std::string& path, std::string_view contents) {
  return WriteWholeFile(path, std::span(&contents, 1));
}

Result<std::int64_t> WriteWholeFile(const std::string& path,
                                    std::span<const std::string_view> pieces) {
  const std::string temporary = path + "." + std::to_string(getpid()) + ".tmp";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return CannotWrite(path, errno);
  int code = 0;
  std::int64_t bytes = 0;
  for (const std::string_view piece : pieces) {
    if (std::fwrite(piece.data(), 1, piece.size(), file) != piece.size()) {
      code = errno;
      break;
    }
    bytes += static_cast<std::int64_t>(piece.size());
  }
  if (std::fclose(file) != 0 && code == 0) code = errno;
  if (code == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) code = errno;
  if (code != 0) {
    std::remove(temporary.c_str());
    return CannotWrite(path, code);
  }
  return bytes;
}

}  // namespace reshard
