// Mamba2 and gated delta nets of a Megatron rank.
#include <array>
#include <string>
#include <utility>

#include "compiler/layout/family_recomputed.h"
#include "compiler/layout/family_segments.h"
#include "compiler/layout/megatron_layer.h"
#include "compiler/layout/megatron_layer_builder.h"

namespace reshard {

// Each segment of the input projection and the convolution is cut alone; so are the heads' scalars
// and the norm (megatron/core/ssm/mamba_mixer.py).
Result<void> MegatronLayerBuilder::AddMamba() {
  const std::string module = prefix_ + "mixer.";
  const RoleTensors& input = layer_[Role::kMambaInput];
  const RoleTensors& convolution = layer_[Role::kMambaConvolution];
  if (input.held() || convolution.held()) {
    const Result<MambaSizes> sizes = MambaSizesOf(model_);
    if (!sizes) return tl::unexpected(sizes.error());
    const SegmentShare share{degrees_.tensor, at_.tensor};
    if (input.held()) {
      Result<std::vector<RowRange>> rows = MambaInputRows(model_, *sizes, input, share);
      if (!rows) return tl::unexpected(rows.error());
      const auto added = linear_.Add(MegatronNames(module + "in_proj"), {.rows = *std::move(rows)});
      if (!added) return added;
    }
    if (convolution.held()) {
      Result<std::vector<RowRange>> rows = MambaConvolutionRows(model_, *sizes, convolution, share);
      if (!rows) return tl::unexpected(rows.error());
      const Result<void> added =
          linear_.Add({.weight = module + "conv1d_weight", .bias = module + "conv1d_bias"},
                      {.rows = *std::move(rows)});
      if (!added) return added;
    }
  }
  for (const auto& [role, name] :
       {std::pair{Role::kMambaALog, "A_log"}, std::pair{Role::kMambaD, "D"},
        std::pair{Role::kMambaTimeBias, "dt_bias"}, std::pair{Role::kMambaNorm, "norm.weight"}}) {
    if (const Result<void> added = AddCutVector(role, module + name); !added) return added;
  }
  return AddRowParallel(Role::kMambaOutput, module + "out_proj");
}

// q | k | v | z | b | a, whichever way the checkpoint joins them; the convolution q | k | v
// (megatron/core/ssm/gated_delta_net.py).
Result<void> MegatronLayerBuilder::AddDelta() {
  const std::string module = prefix_ + "self_attention.";
  const RoleTensors& convolution = layer_[Role::kDeltaConvolution];
  const bool input = HoldsDeltaInput(layer_);
  if (input || convolution.held()) {
    const Result<DeltaSizes> sizes = DeltaSizesOf(model_);
    if (!sizes) return tl::unexpected(sizes.error());
    const SegmentShare share{degrees_.tensor, at_.tensor};
    if (input) {
      Result<std::vector<RowRange>> rows = DeltaInputRows(model_, *sizes, layer_, share);
      if (!rows) return tl::unexpected(rows.error());
      const auto added = linear_.Add(MegatronNames(module + "in_proj"), {.rows = *std::move(rows)});
      if (!added) return added;
    }
    if (convolution.held()) {
      Result<std::vector<RowRange>> rows = DeltaConvolutionRows(model_, *sizes, convolution, share);
      if (!rows) return tl::unexpected(rows.error());
      const auto added = linear_.Add(MegatronNames(module + "conv1d"), {.rows = *std::move(rows)});
      if (!added) return added;
    }
  }
  for (const auto& [role, name] :
       {std::pair{Role::kDeltaALog, "A_log"}, std::pair{Role::kDeltaTimeBias, "dt_bias"}}) {
    if (const Result<void> added = AddCutVector(role, module + name); !added) return added;
  }
  if (FunctionOf(model_, "megatron", Role::kDeltaNorm) == StoredFunction::kIdentity) {
    const Result<void> added = AddWhole(Role::kDeltaNorm, module + "out_norm.weight");
    if (!added) return added;
  }
  return AddRowParallel(Role::kDeltaOutput, module + "out_proj");
}

}  // namespace reshard
