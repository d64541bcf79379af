// Which GPUs NVLink connects, directly or over switches.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace reshard {

// Connected components of a graph whose vertices 0..gpu_count-1 are GPUs and whose others, up to
// vertex_count, are switches. Returns the component of each GPU, numbered by its first GPU.
std::vector<std::int32_t> NvlinkIslands(
    std::int32_t gpu_count, std::int32_t vertex_count,
    std::span<const std::pair<std::int32_t, std::int32_t>> links);

}  // namespace reshard
