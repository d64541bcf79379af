#include "compiler/layout/index_list.h"

#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>

namespace reshard {
namespace {

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> Number(std::string_view text) {
  text = Trimmed(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

Result<std::vector<std::int32_t>> ParseIndexList(std::string_view text, std::int64_t limit) {
  std::vector<std::int32_t> indices;
  std::vector<bool> listed(static_cast<std::size_t>(limit), false);
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view item = Trimmed(text.substr(0, comma));
    const std::size_t dash = item.find('-');
    const std::optional<std::int64_t> first = Number(item.substr(0, dash));
    const std::optional<std::int64_t> last =
        dash == std::string_view::npos ? first : Number(item.substr(dash + 1));
    if (!first || !last || *first > *last) {
      return InputError("", "'" + std::string(item) + "' is no index and no range of indices",
                        "write a list such as \"0-63,128-191\"");
    }
    if (*last >= limit) {
      return InputError("", "index " + std::to_string(*last) + " is out of range: there are " +
                                std::to_string(limit) + ", numbered from 0");
    }
    for (std::int64_t index = *first; index <= *last; ++index) {
      if (listed[static_cast<std::size_t>(index)]) {
        return InputError("", "index " + std::to_string(index) + " is listed twice");
      }
      listed[static_cast<std::size_t>(index)] = true;
      indices.push_back(static_cast<std::int32_t>(index));
    }
    if (comma == std::string_view::npos) return indices;
    text.remove_prefix(comma + 1);
  }
}

std::string FormatIndexList(std::span<const std::int32_t> indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(indices[i]);
    if (last > i) text.append(1, '-').append(std::to_string(indices[last]));
    i = last + 1;
  }
  return text;
}

}  // namespace reshard
