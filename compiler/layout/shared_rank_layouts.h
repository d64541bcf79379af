// Ranks that stand at equal coordinates of a framework's grid hold the same: they share a layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "compiler/layout/layout_builder.h"
#include "foundation/error.h"

namespace reshard {

// `coordinates_of(rank)` are comparable; `build(coordinates)` is called once for each, in the order
// of the first rank that stands there, and its first error is the result.
template <typename CoordinatesOf, typename BuildRank>
Result<GroupLayout> ShareRankLayouts(std::int64_t rank_count, const CoordinatesOf& coordinates_of,
                                     const BuildRank& build) {
  GroupLayout group;
  group.layout_of_rank.reserve(static_cast<std::size_t>(rank_count));
  std::map<decltype(coordinates_of(rank_count)), std::int32_t> built;
  for (std::int64_t rank = 0; rank < rank_count; ++rank) {
    const auto at = coordinates_of(rank);
    const auto [entry, fresh] = built.emplace(at, static_cast<std::int32_t>(group.layouts.size()));
    if (fresh) {
      Result<RankLayout> layout = build(at);
      if (!layout) return tl::unexpected(layout.error());
      group.layouts.push_back(*std::move(layout));
    }
    group.layout_of_rank.push_back(entry->second);
  }
  return group;
}

}  // namespace reshard
