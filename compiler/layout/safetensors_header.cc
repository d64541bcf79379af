#include "compiler/layout/safetensors_header.h"

#include <array>
#include <cstdint>
#include <fstream>
#include <utility>

#include "foundation/strict_json.h"

namespace reshard {

Result<SafetensorsHeader> ReadSafetensorsHeader(const std::string& path) {
  // MAX_HEADER_SIZE of the safetensors library.
  constexpr std::uint64_t kHeaderBytesMax = 100'000'000;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff file_bytes = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (file_bytes < 0) return InputError(path, "cannot be read", "check the path");
  std::array<unsigned char, 8> length{};
  file.seekg(0);
  if (file_bytes < 8 || !file.read(reinterpret_cast<char*>(length.data()), length.size())) {
    return InputError(path, "is too short for a safetensors file");
  }
  std::uint64_t header_bytes = 0;
  for (std::size_t i = length.size(); i-- > 0;) header_bytes = header_bytes << 8 | length[i];
  if (header_bytes > kHeaderBytesMax) {
    return InputError(path, "claims a header of " + std::to_string(header_bytes) +
                                " bytes, more than the format allows");
  }
  if (header_bytes > static_cast<std::uint64_t>(file_bytes) - length.size()) {
    return InputError(path, "ends inside its header");
  }
  std::string text(header_bytes, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(header_bytes))) {
    return InputError(path, "cannot be read");
  }
  Result<JsonDocument> document = ParseJson(text, path + ": header");
  if (!document) return tl::unexpected(document.error());
  const auto data_begin = static_cast<std::int64_t>(length.size() + header_bytes);
  return SafetensorsHeader{*std::move(document), data_begin,
                           static_cast<std::int64_t>(file_bytes) - data_begin};
}

}  // namespace reshard
