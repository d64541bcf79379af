// What lanes are called in texts, traces and JSON.
#pragma once

#include <cstddef>

#include "schedules/plan.h"

namespace reshard {

inline constexpr const char* kLaneNames[kLaneCount] = {"pack", "exchange", "unpack"};

constexpr const char* LaneName(Lane lane) { return kLaneNames[static_cast<std::size_t>(lane)]; }

}  // namespace reshard
