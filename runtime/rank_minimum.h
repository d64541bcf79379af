// The one thing that ranks in processes of their own have to be able to do together, whatever
// carries it: all that they compare or gather outside of refits comes down to it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "foundation/error.h"

namespace reshard {

// Makes each value its minimum over all ranks, which call it together with equally many; `what`
// names the occasion in an error.
using MinimumOverRanks =
    std::function<Result<void>(std::span<std::uint64_t> values, const std::string& what)>;

}  // namespace reshard
