// One layer as a vLLM rank holds it.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/layout/family_linear.h"
#include "compiler/layout/family_tensors.h"
#include "compiler/layout/rank_layout_builder.h"
#include "compiler/layout/vllm_degrees.h"
#include "foundation/error.h"

namespace reshard {

// The parameters beside the one named like the tensor `name`: its bias, its scales.
LinearNames VllmNames(const std::string& name);

// Adds what the rank at `at` holds of `layer`; `experts` are its slots, as logical experts. Cuts
// that do not divide, or that vLLM's FP8 layers refuse, are errors that name the tensor.
Result<void> AddVllmLayer(const FamilyTensors& model, const VllmDegrees& degrees,
                          const VllmCoordinates& at, std::span<const std::int64_t> experts,
                          const FamilyLayer& layer, RankLayoutBuilder& builder);

}  // namespace reshard
