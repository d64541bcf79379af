#include "simulator/timeline.h"

#include <algorithm>
#include <cstddef>

namespace reshard {

void Timeline::Add(FlowIndex flow, Nanoseconds begin, Nanoseconds end, double gbps) {
  for (const ResourceShare& use : table_.Shares(flow)) {
    std::vector<double>& bytes = bytes_[static_cast<std::size_t>(use.resource)];
    for (Nanoseconds at = begin; at < end;) {
      const Nanoseconds index = at / stretch_;
      const Nanoseconds next = std::min(end, (index + 1) * stretch_);
      if (static_cast<std::size_t>(index) >= bytes.size()) {
        bytes.resize(static_cast<std::size_t>(index) + 1);
      }
      bytes[static_cast<std::size_t>(index)] += use.share * gbps * static_cast<double>(next - at);
      at = next;
    }
  }
}

}  // namespace reshard
