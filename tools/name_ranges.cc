#include "tools/name_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <utility>

namespace reshard {
namespace {

std::vector<std::string> Pieces(std::string_view name) {
  std::vector<std::string> pieces;
  std::size_t begin = 0;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
       dot = name.find('.', begin)) {
    pieces.emplace_back(name.substr(begin, dot - begin));
    begin = dot + 1;
  }
  pieces.emplace_back(name.substr(begin));
  return pieces;
}

std::string Joined(const std::vector<std::string>& pieces) {
  std::string name = pieces.front();
  for (std::size_t p = 1; p < pieces.size(); ++p) name += "." + pieces[p];
  return name;
}

// Joins the lines that are equal but for a number at `position`. Keeps the order of the first.
void JoinAt(std::size_t position, std::vector<std::vector<std::string>>& lines) {
  std::map<std::vector<std::string>, std::pair<std::size_t, std::vector<std::int64_t>>> families;
  std::vector<std::vector<std::string>> joined;
  for (const std::vector<std::string>& line : lines) {
    const std::optional<std::int64_t> number =
        position < line.size() ? PlainNumber(line[position]) : std::nullopt;
    if (!number) {
      joined.push_back(line);
      continue;
    }
    std::vector<std::string> family = line;
    family[position].clear();
    const auto [entry, added] = families.try_emplace(std::move(family));
    if (added) {
      entry->second.first = joined.size();
      joined.push_back(line);
    }
    entry->second.second.push_back(*number);
  }
  for (auto& [family, members] : families) {
    joined[members.first][position] = NumberRanges(std::move(members.second));
  }
  lines = std::move(joined);
}

// Whether a name of the sorted `others` begins with `prefix`.
bool IsPrefixOfAny(const std::string& prefix, const std::vector<std::string>& others) {
  const auto next = std::lower_bound(others.begin(), others.end(), prefix);
  return next != others.end() && next->starts_with(prefix);
}

}  // namespace

std::optional<std::int64_t> PlainNumber(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::string NumberRanges(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  if (values.size() == 1) return std::to_string(values.front());
  std::string text;
  for (std::size_t first = 0; first < values.size();) {
    std::size_t last = first;
    while (last + 1 < values.size() && values[last + 1] == values[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(values[first]);
    if (last > first) text += fmt::format("-{}", values[last]);
    first = last + 1;
  }
  return fmt::format("{{{}}}", text);
}

std::vector<std::string> JoinNumberedNames(const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> lines;
  std::size_t longest = 0;
  for (const std::string& name : names) {
    lines.push_back(Pieces(name));
    longest = std::max(longest, lines.back().size());
  }
  for (std::size_t position = longest; position > 0; --position) JoinAt(position - 1, lines);
  std::vector<std::string> joined;
  for (const std::vector<std::string>& line : lines) joined.push_back(Joined(line));
  return joined;
}

std::vector<CoveredNames> CoverByPrefix(const std::vector<std::string>& names,
                                        const std::vector<std::string>& others) {
  std::map<std::string, std::vector<std::string>> covered;  // prefix or name -> names
  for (const std::string& name : names) {
    std::size_t dot = name.find('.');
    while (dot != std::string::npos && IsPrefixOfAny(name.substr(0, dot + 1), others)) {
      dot = name.find('.', dot + 1);
    }
    covered[dot == std::string::npos ? name : name.substr(0, dot + 1)].push_back(name);
  }
  std::vector<CoveredNames> patterns;
  for (const auto& [prefix, members] : covered) {
    const bool alone = members.size() == 1;
    patterns.push_back(
        {alone ? members.front() : prefix + "*", static_cast<std::int64_t>(members.size())});
  }
  return patterns;
}

}  // namespace reshard
