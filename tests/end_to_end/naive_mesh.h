// A mesh of a random explicit layout, and where a rank stands in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reshard {

struct NaiveMesh {
  std::string name;
  std::vector<std::int64_t> axes;
  std::vector<std::int32_t> ranks;  // positions in the group, in mesh order

  // The coordinate of a rank of the group; nothing if it is not in the mesh.
  std::optional<std::vector<std::int64_t>> CoordinateOf(std::int32_t rank) const {
    const auto found = std::find(ranks.begin(), ranks.end(), rank);
    if (found == ranks.end()) return std::nullopt;
    std::int64_t position = found - ranks.begin();
    std::vector<std::int64_t> coordinate(axes.size());
    for (std::size_t axis = axes.size(); axis-- > 0;) {
      coordinate[axis] = position % axes[axis];
      position /= axes[axis];
    }
    return coordinate;
  }
};

}  // namespace reshard
