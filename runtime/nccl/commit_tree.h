// The tree over the ranks of a side along which a version is committed.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "schedules/job_records.h"

namespace reshard {

struct CommitPlace {
  std::optional<RankIndex> parent;  // none: the root
  std::vector<RankIndex> children;  // ascending, at most kCommitChildren
};

// Where `rank` stands in the tree of `side`, ascending ranks that include it: the complete tree in
// which the i-th of them has the children k i + 1 .. k i + k, k = kCommitChildren. With eight
// children 4096 ranks are four hops deep, and a hop is one small NCCL group.
CommitPlace FindCommitPlace(std::span<const RankIndex> side, RankIndex rank);

}  // namespace reshard
