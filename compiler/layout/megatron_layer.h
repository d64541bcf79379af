// One layer as a Megatron rank holds it.
#pragma once

#include <string>

#include "compiler/layout/family_linear.h"
#include "compiler/layout/family_tensors.h"
#include "compiler/layout/megatron_degrees.h"
#include "compiler/layout/rank_layout_builder.h"
#include "foundation/error.h"

namespace reshard {

// Parameters of a linear of this module: ".weight", ".bias", the scales; an expert's number stands
// behind the parameter ("linear_fc1.weight7").
LinearNames MegatronNames(const std::string& module, const std::string& number = "");

// Adds what the rank at `at` holds of `layer`. Cuts that do not divide, or cut FP8 blocks, are
// errors that name the tensor. What Megatron holds as another function of it is left out
// (HeldOtherwise).
Result<void> AddMegatronLayer(const FamilyTensors& model, const MegatronDegrees& degrees,
                              const MegatronCoordinates& at, const FamilyLayer& layer,
                              RankLayoutBuilder& builder);

}  // namespace reshard
