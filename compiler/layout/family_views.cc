#include "compiler/layout/family_views.h"

#include "compiler/layout/family_catalog.h"
#include "compiler/layout/family_tensors.h"

namespace reshard {

TensorViews ViewsOfFamily(const Model& model) {
  TensorViews views;
  const Result<std::shared_ptr<const Family>> family = FamilyOf(model);
  if (!family || !(*family)->HasRole(Role::kExpertsGateUpInterleaved)) return views;
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  if (!tensors) return views;
  for (const auto& [index, layer] : tensors->layers()) {
    for (const TensorIndex tensor : layer[Role::kExpertsGateUpInterleaved].of_kind) {
      if (tensor == kNoTensor) continue;
      const std::vector<std::int64_t>& shape = tensors->tensor(tensor).shape;
      const TensorView view{.dim = static_cast<std::int32_t>(shape.size()) - 1, .inner = 2};
      if (!shape.empty() && shape.back() % view.inner == 0) views.emplace(tensor, view);
    }
  }
  return views;
}

}  // namespace reshard
