#include "compiler/planning/zero_rounds.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace reshard {
namespace {

bool HasParameter(const RankLayout& layout, const std::string& name) {
  return std::ranges::find(layout.parameters, name, &Parameter::name) != layout.parameters.end();
}

// Whether any zeros of the rank lie in a parameter that shares memory with one of its source.
bool ZerosShareMemory(const JobRecords& job, const Rank& rank) {
  if (rank.source_layout == kNoLayout || job.in_place.empty()) return false;
  const RankLayout& source = job.layouts[static_cast<std::size_t>(rank.source_layout)];
  const RankLayout& destination = job.layouts[static_cast<std::size_t>(rank.destination_layout)];
  for (std::int64_t i = 0; i < destination.zeros.size(); ++i) {
    const std::string& name =
        destination.parameters[static_cast<std::size_t>(destination.zeros[i].parameter)].name;
    for (const InPlacePair& pair : job.in_place) {
      if (pair.destination_parameter == name && HasParameter(source, pair.source_parameter)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

void PlaceZeros(Plan& plan) {
  const RoundIndex behind_all = plan.round_count;
  for (std::size_t r = 0; r < plan.job.ranks.size(); ++r) {
    const Rank& rank = plan.job.ranks[r];
    if (rank.destination_layout == kNoLayout) continue;
    if (plan.job.layouts[static_cast<std::size_t>(rank.destination_layout)].zeros.empty()) continue;
    RankSchedule& schedule = plan.schedules[r];
    schedule.zero_round = 0;
    if (ZerosShareMemory(plan.job, rank)) {
      schedule.zero_round = behind_all;
      schedule.waits.push_back({Lane::kUnpack, Lane::kPack, 0});
    }
    plan.round_count = std::max(plan.round_count, schedule.zero_round + 1);
  }
}

}  // namespace reshard
