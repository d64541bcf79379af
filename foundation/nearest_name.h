// The known name a misspelt one most likely stands for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace reshard {

// ASCII letters in lower case, all else as it is.
std::string LowerCase(std::string_view text);

// Levenshtein distance in bytes: insertions, deletions and replacements.
std::int64_t EditDistance(std::string_view a, std::string_view b);

// A remedy for an error about the unknown `name`: "did you mean 'tensor'?" when a candidate is near
// (the first of the nearest), else "known are 'a', 'b'"; empty without candidates.
std::string SuggestName(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace reshard
