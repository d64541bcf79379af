#include "compiler/layout/whole_parameter.h"

#include <utility>

namespace reshard {

WholeParameter WholeTensor(const FamilyTensors& model, TensorIndex tensor) {
  const Tensor& whole = model.tensor(tensor);
  return {.name = whole.name, .dtype = whole.dtype, .block = Block::OfTensor(tensor, whole.shape)};
}

Result<std::optional<WholeParameter>> StackExperts(const FamilyTensors& model,
                                                   const FamilyLayer& layer, Role role, Kind kind,
                                                   const std::string& parameter) {
  std::vector<Block> entries;
  const Tensor* first = nullptr;
  for (const auto& [expert, tensors] : layer.experts) {
    const TensorIndex index = tensors[role][kind];
    if (index == kNoTensor) continue;
    const Tensor& tensor = model.tensor(index);
    if (first == nullptr) first = &tensor;
    if (tensor.shape != first->shape || tensor.dtype != first->dtype) {
      return InputError("model", parameter + ": " + tensor.name + " and " + first->name +
                                     " differ in shape or dtype");
    }
    entries.push_back(Block::OfTensor(index, tensor.shape));
  }
  if (first == nullptr) return std::nullopt;
  if (static_cast<std::int64_t>(entries.size()) != model.expert_count()) {
    return InputError(
        "model",
        "layer " + std::to_string(layer.index) + " lists " + std::to_string(entries.size()) +
            " of " + std::to_string(model.expert_count()) + " experts with " +
            std::string(Name(role)) + ": " + parameter + " would hold some parts only",
        "list all experts of the layer or none");
  }
  return WholeParameter{.name = parameter,
                        .dtype = first->dtype,
                        .block = Block::Stack(entries),
                        .role = role,
                        .kind = kind,
                        .layer = layer.index};
}

}  // namespace reshard
