// The buffers a framework derives from the model's tensors after loading.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout/family_tensors.h"

namespace reshard {

// Their names, {layer} for the layers' numbers; those whose origin the model holds.
std::vector<std::string> RecomputedBuffers(const FamilyTensors& model, std::string_view framework);

}  // namespace reshard
