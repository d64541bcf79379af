// How a group's ranks form independent inference engines.
#pragma once

#include <cstdint>
#include <string_view>

#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

// Engine e is ranks [e * n, (e + 1) * n), n the value: tensor * pipeline * data for vllm,
// tensor * pipeline for sglang; all `rank_count` ranks for layouts that know no engines. `fields`
// is what stands behind the kind's name. Fails as the kind's own reader does.
Result<std::int64_t> RanksPerEngine(std::string_view kind, const JsonCursor& fields,
                                    std::int64_t rank_count);

}  // namespace reshard
