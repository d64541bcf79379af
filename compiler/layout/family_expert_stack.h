// Experts of a layer that one tensor holds, whichever way it lies: blocks of one expert.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/layout/block.h"
#include "compiler/layout/family_linear.h"
#include "compiler/layout/family_tensors.h"
#include "foundation/error.h"

namespace reshard {

// The tensors of a layer's stack.
struct ExpertStack {
  RoleTensors gate_up;
  RoleTensors down;
  bool by_input = false;     // [E, H, 2F] and [E, F, H], not [E, 2F, H] and [E, H, F]
  bool interleaved = false;  // gate and up alternate along 2F, not gate first
  std::int64_t width = 0;    // F
};

// The stack of a layer; none where it has none. Errors name the tensor: one of both missing, shapes
// that do not belong together, other counts of experts than the family's.
Result<std::optional<ExpertStack>> ExpertStackOf(const FamilyTensors& model,
                                                 const FamilyLayer& layer);

// Of one expert the rows of gate, then the same rows of up, as [2 * rows, H]; of the bias without
// H. `interleaved`: gate and up rows alternate, as they do in an interleaved stack; of another
// stack they never do.
Block ExpertGateUpBlock(const FamilyTensors& model, const ExpertStack& stack, Kind kind,
                        std::int64_t expert, const Share& rows, bool interleaved);
// Columns of down, [H, columns]; of the bias all of [H].
Block ExpertDownBlock(const FamilyTensors& model, const ExpertStack& stack, Kind kind,
                      std::int64_t expert, const Share& columns);

}  // namespace reshard
