#include "compiler/job/family_forms.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "compiler/layout/family_catalog.h"
#include "compiler/layout/family_tensors.h"

namespace reshard {
namespace {

ElementFunction FunctionOf(StoredFunction function) {
  switch (function) {
    case StoredFunction::kNegativeExponential:
      return ElementFunction::kNegativeExponential;
    case StoredFunction::kMinusOne:
      return ElementFunction::kMinusOne;
    case StoredFunction::kIdentity:
      return ElementFunction::kIdentity;
  }
  return ElementFunction::kIdentity;
}

// The tensors of a role, of all layers.
std::vector<TensorIndex> TensorsOf(const FamilyTensors& model, Role role) {
  std::vector<TensorIndex> tensors;
  if (model[role].held()) tensors.push_back(model[role][Kind::kWeight]);
  for (const auto& [index, layer] : model.layers()) {
    if (layer[role].held()) tensors.push_back(layer[role][Kind::kWeight]);
  }
  return tensors;
}

}  // namespace

FamilyForms FindFamilyForms(const Model& model, std::string_view framework, bool is_source) {
  FamilyForms forms;
  const Result<std::shared_ptr<const Family>> family = FamilyOf(model);
  if (!family) return forms;
  const auto is_its_own = [framework](const StoredTensors& entry) {
    return entry.framework == framework;
  };
  if (std::ranges::none_of((*family)->stored, is_its_own)) return forms;
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  if (!tensors) return forms;
  // The logarithm that would undo -exp(x) is no planned step.
  forms.functions_applied =
      !is_source || std::ranges::none_of((*family)->stored, [&](const StoredTensors& entry) {
        return is_its_own(entry) && entry.function == StoredFunction::kNegativeExponential;
      });
  for (const StoredTensors& entry : (*family)->stored) {
    const bool is_left_out =
        entry.function != StoredFunction::kIdentity && !forms.functions_applied;
    if (!is_its_own(entry) || is_left_out) continue;
    for (const TensorIndex tensor : TensorsOf(*tensors, entry.role)) {
      // Names that families know have no braces.
      Result<NamePattern> name = NamePattern::Parse(tensors->tensor(tensor).name);
      if (!name) continue;
      forms.stored.push_back({*std::move(name), FunctionOf(entry.function), entry.dtype});
    }
  }
  return forms;
}

}  // namespace reshard
