#include "topology/importers/nvlink_islands.h"

#include <map>
#include <numeric>

namespace reshard {

std::vector<std::int32_t> NvlinkIslands(
    std::int32_t gpu_count, std::int32_t vertex_count,
    std::span<const std::pair<std::int32_t, std::int32_t>> links) {
  std::vector<std::int32_t> parent(vertex_count);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&parent](std::int32_t vertex) {
    while (parent[vertex] != vertex) {
      parent[vertex] = parent[parent[vertex]];
      vertex = parent[vertex];
    }
    return vertex;
  };
  for (const auto& [from, to] : links) parent[root(from)] = root(to);

  std::map<std::int32_t, std::int32_t> number_of_root;
  std::vector<std::int32_t> islands;
  for (std::int32_t gpu = 0; gpu < gpu_count; ++gpu) {
    const auto next = static_cast<std::int32_t>(number_of_root.size());
    islands.push_back(number_of_root.try_emplace(root(gpu), next).first->second);
  }
  return islands;
}

}  // namespace reshard
