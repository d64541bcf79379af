#include "runtime/available_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

std::optional<std::int64_t> ParseNumber(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + first, text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::optional<std::int64_t> ParseAvailableMemory(std::string_view meminfo) {
  constexpr std::string_view kKey = "MemAvailable:";
  const std::size_t line = meminfo.find(kKey);
  if (line == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> kibibytes = ParseNumber(meminfo.substr(line + kKey.size()));
  return kibibytes ? CheckedMultiply(*kibibytes, 1024) : std::nullopt;
}

std::optional<std::int64_t> AvailableMemoryBytes() {
  std::optional<std::int64_t> available = ParseAvailableMemory(ReadFile("/proc/meminfo"));
  // "max" where the group has no limit, which is no number.
  const auto limit = ParseNumber(ReadFile("/sys/fs/cgroup/memory.max"));
  const auto used = ParseNumber(ReadFile("/sys/fs/cgroup/memory.current"));
  if (limit && used) {
    const std::int64_t left = std::max<std::int64_t>(*limit - *used, 0);
    available = std::min(available.value_or(left), left);
  }
  return available;
}

}  // namespace reshard
