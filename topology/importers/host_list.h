// SLURM's host list expressions: "node[001-016,020],login", "rack[0-1]n[1-4]".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"

namespace reshard {

// The names in order. Leading zeros are kept ("[08-10]" is 08, 09, 10); several brackets run like
// digits, the last one fastest. Fails on an empty name, a bracket that does not close, a range that
// runs backwards, and on more than `most` names, before they are made. Errors have `place`.
Result<std::vector<std::string>> ExpandHostList(std::string_view text, const std::string& place,
                                                std::int64_t most);

}  // namespace reshard
