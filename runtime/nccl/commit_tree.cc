#include "runtime/nccl/commit_tree.h"

#include <algorithm>
#include <cstddef>

#include "kernels/cuda/commit_kernels.h"

namespace reshard {

CommitPlace FindCommitPlace(std::span<const RankIndex> side, RankIndex rank) {
  constexpr auto kChildren = static_cast<std::size_t>(kCommitChildren);
  const auto position =
      static_cast<std::size_t>(std::lower_bound(side.begin(), side.end(), rank) - side.begin());
  CommitPlace place;
  if (position > 0) place.parent = side[(position - 1) / kChildren];
  const std::size_t first = position * kChildren + 1;
  for (std::size_t child = first; child < std::min(first + kChildren, side.size()); ++child) {
    place.children.push_back(side[child]);
  }
  return place;
}

}  // namespace reshard
