// Ranks in words, for errors.
#pragma once

#include <span>
#include <string>

#include "schedules/job_records.h"

namespace reshard {

// "rank 3", "ranks 1, 2".
std::string RankList(std::span<const RankIndex> ranks);

}  // namespace reshard
