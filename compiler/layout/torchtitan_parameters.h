// The parameters of a model as torchtitan names, permutes and stacks them, and
// how it cuts them.
#pragma once

#include <vector>

#include "compiler/layout/family_tensors.h"
#include "compiler/layout/fsdp_degrees.h"
#include "compiler/layout/fsdp_parameter.h"
#include "compiler/layout/torchtitan_stages.h"
#include "foundation/error.h"

namespace reshard {

// Multi-token prediction is left out. Errors as BuildTorchtitanLayout says.
Result<std::vector<FsdpParameter>> TorchtitanParameters(const FamilyTensors& model,
                                                        const FsdpDegrees& degrees,
                                                        const TorchtitanStages& stages,
                                                        bool fused_qkv);

}  // namespace reshard
