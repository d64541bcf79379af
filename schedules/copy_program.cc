#include "schedules/copy_program.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace reshard {

void AppendEntry(const Fragment& fragment, const Region& region, std::int64_t element_bytes,
                 CopyProgram& program) {
  std::int64_t offset = region.offset;
  std::vector<CopyDim> dims;  // innermost first
  std::int64_t run = element_bytes;
  for (std::size_t k = fragment.extent.size(); k-- > 0;) {
    offset += (fragment.begin[k] - region.begin[k]) * region.stride[k];
    const std::int64_t count = fragment.extent[k];
    const std::int64_t stride = region.stride[k] * element_bytes;
    if (count == 1) continue;
    if (dims.empty() && stride == run) {
      run *= count;
    } else if (!dims.empty() && stride == dims.back().stride * dims.back().count) {
      dims.back().count *= count;
    } else {
      dims.push_back({count, stride});
    }
  }
  std::reverse(dims.begin(), dims.end());
  program.Add(region.parameter, offset * element_bytes, run, dims);
}

std::span<const CopyProgram> FindPrograms(std::span<const CopyProgram> programs, LayoutIndex layout,
                                          ClassIndex demand_class) {
  const auto key = [](const CopyProgram& program) {
    return std::tuple(program.layout, program.demand_class);
  };
  const auto found =
      std::ranges::equal_range(programs, std::tuple(layout, demand_class), std::less<>(), key);
  return {found.begin(), found.end()};
}

}  // namespace reshard
