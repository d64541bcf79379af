#include "schedules/copy_program.h"

#include <algorithm>

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

}  // namespace reshard
