// Experts that the checkpoint has in one tensor for a layer, as a Megatron rank holds them: each in
// buffers of its own, as if it had been a tensor of its own.
#include <string>

#include "compiler/layout/family_expert_stack.h"
#include "compiler/layout/megatron_layer.h"
#include "compiler/layout/megatron_layer_builder.h"

namespace reshard {

Result<void> MegatronLayerBuilder::AddExpertStack() {
  const Result<std::optional<ExpertStack>> found = ExpertStackOf(model_, layer_);
  if (!found) return tl::unexpected(found.error());
  if (!*found) return {};
  const ExpertStack& stack = **found;
  const Result<Share> experts =
      EqualShare(model_.expert_count(), degrees_.expert, at_.expert, prefix_ + "mlp.experts");
  if (!experts) return tl::unexpected(experts.error());
  const Result<Share> width = EqualShare(stack.width, degrees_.expert_tensor, at_.expert_tensor,
                                         NameOf(stack.gate_up) + ": width of an expert");
  if (!width) return tl::unexpected(width.error());
  if (stack.down[Kind::kBias] != kNoTensor && degrees_.expert_tensor > 1) {
    return InputError("",
                      model_.tensor(stack.down[Kind::kBias]).name +
                          ": Megatron does not cut experts with biases over expertTensor ranks",
                      "choose expertTensor 1");
  }
  for (std::int64_t expert = experts->begin; expert < experts->end; ++expert) {
    for (const Kind kind : {Kind::kWeight, Kind::kBias}) {
      const std::string parameter =
          (kind == Kind::kWeight ? ".weight" : ".bias") + std::to_string(expert);
      if (const TensorIndex tensor = stack.gate_up[kind]; tensor != kNoTensor) {
        const Result<void> added = builder_.AddParameter(
            prefix_ + "mlp.experts.linear_fc1" + parameter, model_.tensor(tensor).dtype,
            ExpertGateUpBlock(model_, stack, kind, expert, *width, /*interleaved=*/false));
        if (!added) return added;
      }
      if (const TensorIndex tensor = stack.down[kind]; tensor != kNoTensor) {
        const Result<void> added = builder_.AddParameter(
            prefix_ + "mlp.experts.linear_fc2" + parameter, model_.tensor(tensor).dtype,
            ExpertDownBlock(model_, stack, kind, expert, *width));
        if (!added) return added;
      }
    }
  }
  return {};
}

}  // namespace reshard
