// A parameter of a model before any rank's cut, and what it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/layout/block.h"
#include "compiler/layout/family_roles.h"
#include "compiler/layout/family_tensors.h"
#include "foundation/error.h"
#include "schedules/dtype.h"

namespace reshard {

struct WholeParameter {
  static constexpr std::int64_t kNone = -1;

  std::string name{};
  DType dtype = DType::kBF16;
  Block block{};
  std::optional<Role> role{};  // none where the model's family is not known
  Kind kind = Kind::kWeight;
  std::int64_t layer = kNone;   // of the model; kNone: of none
  std::int64_t expert = kNone;  // of the layer; kNone: of none, or a stack of all
  bool joined = false;          // gate rows and up rows in one, for each entry of the stack
};

// The whole of a tensor of `model`.
WholeParameter WholeTensor(const FamilyTensors& model, TensorIndex tensor);

// The tensors that `role` has of `kind` in all experts of a layer, stacked
// along a new dim 0 in the order of the experts; nullopt where no expert has
// one. Errors: experts that lack theirs, shapes or dtypes that differ.
// `parameter` names what they would form.
Result<std::optional<WholeParameter>> StackExperts(const FamilyTensors& model,
                                                   const FamilyLayer& layer, Role role, Kind kind,
                                                   const std::string& parameter);

}  // namespace reshard
