// Rounds that are all alike, and the ranks that depend on each other in them.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/replay_model.h"

namespace reshard {

// Ranks that meet, directly or through others, in the transfers of a plateau. While all of them are
// in it nothing outside acts on them: parts of a plateau keep times of their own.
struct PlateauPart {
  std::vector<RankIndex> ranks;  // ascending
  std::vector<FlowIndex> flows;  // the plateau's transfers and copies of these ranks, ascending
};

// Rounds [begin, end) in each of which every lane and transfer of the model carries what it carries
// in the others.
struct Plateau {
  RoundIndex begin = 0;
  RoundIndex end = 0;
  std::vector<std::int32_t> part_of_rank;
  std::vector<PlateauPart> parts;
};

// The plateaus of at least `rounds_min` rounds, ascending. Ranks that share a resource which none
// of them has alone (a NIC of several GPUs, a switch) are in one part.
std::vector<Plateau> FindPlateaus(const ReplayModel& model, RoundIndex rounds_min);

}  // namespace reshard
