#include "foundation/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace reshard {
namespace {

tl::unexpected<Error> TooLarge(const std::string& path, std::int64_t limit_bytes) {
  return InputError(path, "larger than " + std::to_string(limit_bytes) + " bytes");
}

}  // namespace

Result<std::string> ReadTextFile(const std::string& path, std::int64_t limit_bytes) {
  std::error_code no_status;
  const std::filesystem::file_status status = std::filesystem::status(path, no_status);
  if (std::filesystem::is_directory(status)) return InputError(path, "is a directory");
  if (std::filesystem::is_regular_file(status)) {
    std::error_code no_size;
    const std::uintmax_t size = std::filesystem::file_size(path, no_size);
    if (!no_size && std::cmp_greater(size, limit_bytes)) return TooLarge(path, limit_bytes);
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) return InputError(path, std::string("cannot open: ") + std::strerror(errno));
  // A pipe has no size beforehand, so the limit is held while reading too.
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    const std::size_t got = std::fread(text.data() + before, 1, kPiece, file.get());
    text.resize(before + got);
    if (std::ferror(file.get()) != 0) {
      return InputError(path, std::string("cannot read: ") + std::strerror(errno));
    }
    if (std::cmp_greater(text.size(), limit_bytes)) return TooLarge(path, limit_bytes);
    if (got < kPiece) return text;
  }
}

}  // namespace reshard
