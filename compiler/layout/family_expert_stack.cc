#include "compiler/layout/family_expert_stack.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace reshard {
namespace {

struct Form {
  Role gate_up = Role::kExpertsGateUp;
  Role down = Role::kExpertsDown;
  bool by_input = false;
  bool interleaved = false;
};

constexpr std::array kForms{
    Form{Role::kExpertsGateUp, Role::kExpertsDown, false, false},
    Form{Role::kExpertsGateUpByInput, Role::kExpertsDownByInput, true, false},
    Form{Role::kExpertsGateUpInterleaved, Role::kExpertsDownByInput, true, true},
};

Result<void> CheckShape(const FamilyTensors& model, TensorIndex index,
                        const std::vector<std::int64_t>& wanted) {
  if (index == kNoTensor || model.tensor(index).shape == wanted) return {};
  std::string text;
  for (const std::int64_t size : wanted) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return InputError("model", model.tensor(index).name +
                                 " does not fit the stack of experts it is of; expected [" + text +
                                 "]");
}

Result<void> CheckShapes(const FamilyTensors& model, const ExpertStack& stack,
                         std::int64_t hidden) {
  const std::int64_t experts = model.expert_count();
  const std::int64_t both = 2 * stack.width;
  using Shape = std::vector<std::int64_t>;
  const Shape gate_up =
      stack.by_input ? Shape{experts, hidden, both} : Shape{experts, both, hidden};
  const Shape down =
      stack.by_input ? Shape{experts, stack.width, hidden} : Shape{experts, hidden, stack.width};
  for (const auto& [tensor, shape] : {std::pair{stack.gate_up[Kind::kWeight], gate_up},
                                      std::pair{stack.down[Kind::kWeight], down},
                                      std::pair{stack.gate_up[Kind::kBias], Shape{experts, both}},
                                      std::pair{stack.down[Kind::kBias], Shape{experts, hidden}}}) {
    if (const Result<void> checked = CheckShape(model, tensor, shape); !checked) return checked;
  }
  return {};
}

// Dim 0 of a tensor, at `expert`, gone.
Block OfExpert(const FamilyTensors& model, TensorIndex index, std::int64_t expert) {
  const Block block =
      Block::OfTensor(index, model.tensor(index).shape).Slice(0, expert, expert + 1);
  return *block.MergeDims(0);  // once the next dim fits
}

Block Turned(const Block& matrix) {
  static constexpr std::array kOrder{1, 0};
  return matrix.Transpose(kOrder);
}

}  // namespace

Result<std::optional<ExpertStack>> ExpertStackOf(const FamilyTensors& model,
                                                 const FamilyLayer& layer) {
  for (const Form& form : kForms) {
    if (!layer[form.gate_up].held()) continue;
    const std::array roles{form.gate_up, form.down};
    const auto parts = Together(model, layer, roles, "the stacks of experts");
    if (!parts) return tl::unexpected(parts.error());
    if (parts->size() != roles.size()) {
      return InputError("model", model.tensor(parts->front()[Kind::kWeight]).name +
                                     " is of a family that has no stack of down projections");
    }
    ExpertStack stack{.gate_up = parts->front(),
                      .down = parts->back(),
                      .by_input = form.by_input,
                      .interleaved = form.interleaved};
    const Tensor& down = model.tensor(stack.down[Kind::kWeight]);
    constexpr std::size_t kDims = 3;
    if (down.shape.size() != kDims) {
      return InputError("model", down.name + " has " + std::to_string(down.shape.size()) +
                                     " dims; a stack of experts has 3");
    }
    stack.width = down.shape[form.by_input ? 1 : 2];
    const Result<void> checked = CheckShapes(model, stack, down.shape[form.by_input ? 2 : 1]);
    if (!checked) return tl::unexpected(checked.error());
    return std::optional<ExpertStack>(stack);
  }
  for (const Role down : {Role::kExpertsDown, Role::kExpertsDownByInput}) {
    if (!layer[down].held()) continue;
    return InputError("model",
                      model.tensor(layer[down][Kind::kWeight]).name +
                          " is listed without the stack of gate and up",
                      "list both or none");
  }
  return std::optional<ExpertStack>();
}

Block ExpertGateUpBlock(const FamilyTensors& model, const ExpertStack& stack, Kind kind,
                        std::int64_t expert, const Share& rows, bool interleaved) {
  Block all = OfExpert(model, stack.gate_up[kind], expert);
  if (stack.by_input && kind == Kind::kWeight) all = Turned(all);
  std::vector<Block> halves;
  if (!stack.interleaved) {
    halves.push_back(all.Slice(0, rows.begin, rows.end));
    halves.push_back(all.Slice(0, stack.width + rows.begin, stack.width + rows.end));
    return Block::Concat(0, halves);
  }
  // Rows 2f and 2f + 1 are gate and up of f.
  const Block own = all.Slice(0, 2 * rows.begin, 2 * rows.end);
  if (interleaved) return own;
  const Block pairs = *own.SplitDim(0, 2);  // an even number of rows
  for (const std::int64_t half : {0, 1}) {
    halves.push_back(*pairs.Slice(1, half, half + 1).MergeDims(0));  // [rows, 1, ..] fits
  }
  return Block::Concat(0, halves);
}

Block ExpertDownBlock(const FamilyTensors& model, const ExpertStack& stack, Kind kind,
                      std::int64_t expert, const Share& columns) {
  Block all = OfExpert(model, stack.down[kind], expert);
  if (kind == Kind::kBias) return all;
  if (stack.by_input) all = Turned(all);
  return all.Slice(1, columns.begin, columns.end);
}

}  // namespace reshard
