#include "runtime/rank_list.h"

#include <cstddef>

namespace reshard {

std::string RankList(std::span<const RankIndex> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace reshard
