// Lists of indices as text: "0-63,128-191". The order of the text is the order of the list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"

namespace reshard {

// The indices that `text` lists: numbers and ranges first-last with first <= last, joined by
// commas, spaces around them ignored. Errors (without a place): anything else, an empty list, an
// index outside [0, limit), an index twice. Never allocates more than `limit` entries.
Result<std::vector<std::int32_t>> ParseIndexList(std::string_view text, std::int64_t limit);

// The shortest text that ParseIndexList makes `indices` from.
std::string FormatIndexList(std::span<const std::int32_t> indices);

}  // namespace reshard
