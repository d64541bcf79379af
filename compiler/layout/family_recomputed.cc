#include "compiler/layout/family_recomputed.h"

#include <algorithm>

namespace reshard {

std::vector<std::string> RecomputedBuffers(const FamilyTensors& model, std::string_view framework) {
  std::vector<std::string> names;
  for (const RecomputedBuffer& buffer : model.family().recomputed) {
    if (buffer.framework != framework) continue;
    const bool held =
        std::any_of(model.layers().begin(), model.layers().end(),
                    [&](const auto& entry) { return entry.second[buffer.from].held(); });
    if (held) names.push_back(buffer.name);
  }
  return names;
}

}  // namespace reshard
