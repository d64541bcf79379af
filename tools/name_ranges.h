// Long lists of tensor names in few lines: "model.layers.61.*", "experts.{0-255}.up_proj.weight".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reshard {

// A number as people write it: digits without a leading zero, at most 18, so that text and value
// determine each other.
std::optional<std::int64_t> PlainNumber(std::string_view text);

// "5", "{0-255}", "{0-1,3}". Of at least one value, all distinct.
std::string NumberRanges(std::vector<std::int64_t> values);

// Names that differ in one dotted piece that is a number become one line with the numbers as
// ranges, one piece after another from the last: "a.0.b", "a.1.b", "a.3.b" -> "a.{0-1,3}.b".
// `names` are distinct; a name stands for itself exactly once in what comes back. Lines are in the
// order of the first name of each.
std::vector<std::string> JoinNumberedNames(const std::vector<std::string>& names);

struct CoveredNames {
  std::string pattern;     // "model.layers.61.*", or a name that stands for itself
  std::int64_t count = 0;  // names it stands for
  bool operator==(const CoveredNames&) const = default;
};

// The fewest dotted prefixes "prefix.*" that cover all `names` and none of `others` (sorted
// bytewise). A prefix has at least one piece, and one that would cover a single name is that name.
std::vector<CoveredNames> CoverByPrefix(const std::vector<std::string>& names,
                                        const std::vector<std::string>& others);

}  // namespace reshard
