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

StoredFunction FunctionOf(const FamilyTensors& model, std::string_view framework, Role role) {
  if (model.model().functions_applied) return StoredFunction::kIdentity;
  for (const StoredTensors& stored : model.family().stored) {
    if (stored.framework == framework && stored.role == role) return stored.function;
  }
  return StoredFunction::kIdentity;
}

std::map<std::string, std::string, std::less<>> HeldOtherwise(const FamilyTensors& model,
                                                              std::string_view framework) {
  std::map<std::string, std::string, std::less<>> held;
  if (model.model().functions_applied) return held;
  for (const StoredTensors& stored : model.family().stored) {
    if (stored.framework != framework || stored.function == StoredFunction::kIdentity) continue;
    for (const auto& [index, layer] : model.layers()) {
      if (!layer[stored.role].held()) continue;
      held.emplace(model.tensor(layer[stored.role][Kind::kWeight]).name,
                   stored.function == StoredFunction::kMinusOne ? "x - 1" : "-exp(x)");
    }
  }
  return held;
}

}  // namespace reshard
