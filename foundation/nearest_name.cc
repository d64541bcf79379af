#include "foundation/nearest_name.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace reshard {
namespace {

// Names longer than this are nobody's slip of the pen; the bound keeps hostile input cheap.
constexpr std::size_t kLongestName = 256;

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::int64_t EditDistance(std::string_view a, std::string_view b) {
  // Wagner and Fischer, one row at a time: row[j] is the distance of a's prefix to b's first j.
  std::vector<std::int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::int64_t diagonal = row[0];
    row[0] = static_cast<std::int64_t>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::int64_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string SuggestName(std::string_view name, std::span<const std::string_view> candidates) {
  if (candidates.empty()) return "";
  std::string_view nearest;
  std::int64_t nearest_distance = -1;
  if (name.size() <= kLongestName) {
    const std::string lower = LowerCase(name);
    for (const std::string_view candidate : candidates) {
      const std::int64_t distance = EditDistance(lower, LowerCase(candidate));
      if (nearest_distance < 0 || distance < nearest_distance) {
        nearest = candidate;
        nearest_distance = distance;
      }
    }
    // Two slips in five letters still read as the same word; more is another word.
    const auto longest = static_cast<std::int64_t>(std::max(name.size(), nearest.size()));
    if (5 * nearest_distance <= 2 * longest) return "did you mean '" + std::string(nearest) + "'?";
  }
  std::string known = "known are ";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    known += (i == 0 ? "'" : ", '") + std::string(candidates[i]) + "'";
  }
  return known;
}

}  // namespace reshard
