// What a framework holds of the model otherwise than as copies: derived after loading, or functions
// of the checkpoint's elements.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout/family_tensors.h"

namespace reshard {

// Their names, {layer} for the layers' numbers; those whose origin the model holds.
std::vector<std::string> RecomputedBuffers(const FamilyTensors& model, std::string_view framework);

// The function in which a framework holds the tensors of a role; the identity where it copies them,
// or the model has them so (Model::functions_applied).
StoredFunction FunctionOf(const FamilyTensors& model, std::string_view framework, Role role);

// The tensors of which it holds another function, and which: GroupLayout::held_otherwise.
std::map<std::string, std::string, std::less<>> HeldOtherwise(const FamilyTensors& model,
                                                              std::string_view framework);

}  // namespace reshard
