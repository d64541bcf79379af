// One layer as a rank of vLLM holds it, or of an engine that fuses and stacks as vLLM does
// (SGLang).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "compiler/layout/family_linear.h"
#include "compiler/layout/family_tensors.h"
#include "compiler/layout/rank_layout_builder.h"
#include "compiler/layout/vllm_degrees.h"
#include "foundation/error.h"

namespace reshard {

// The parameters beside the one named like the tensor `name`: its bias, its scales.
LinearNames VllmNames(const std::string& name);

// How a module is cut: this rank's is share `index` of `count` equal ones.
struct EngineShare {
  std::int64_t count = 1;
  std::int64_t index = 0;
};

// What decides how a rank of an engine holds a layer.
struct EngineRank {
  EngineShare attention;
  EngineShare mlp;  // of dense layers
  EngineShare shared_expert;
  EngineShare expert;                     // of each of `experts`
  std::span<const std::int64_t> experts;  // the rank's slots, as logical experts
  // Whose names parameters have (FamilyTensors::NameIn).
  std::string_view framework = "vllm";
  // The parameter that joins the down projections of latent attention.
  std::string_view latent_down = "fused_qkv_a_proj.weight";
  // What stands between "experts." and "w13_weight".
  std::string_view expert_stack = "routed_experts.";
  bool up_first = false;         // up rows before gate rows in the stacks
  bool shared_in_stack = false;  // the shared expert is one more slot, behind the others
  bool refines_scales = true;    // vLLM's way with FP8 blocks that a shard of an expert cuts
};

// Adds what the rank holds of `layer`. Cuts that do not divide, or cut FP8 blocks, are errors that
// name the tensor. What the framework holds as another function of it is left out (HeldOtherwise).
Result<void> AddEngineLayer(const FamilyTensors& model, const EngineRank& rank,
                            const FamilyLayer& layer, RankLayoutBuilder& builder);

// The same of the vLLM rank at `at`, whose slots are `experts`.
Result<void> AddVllmLayer(const FamilyTensors& model, const VllmDegrees& degrees,
                          const VllmCoordinates& at, std::span<const std::int64_t> experts,
                          const FamilyLayer& layer, RankLayoutBuilder& builder);

}  // namespace reshard
