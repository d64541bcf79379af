// What FSDP2, over tensor and expert parallelism, leaves of a parameter on a
// rank.
//
// Tensor or expert parallelism cuts first, FSDP then cuts what is left, each by
// torch.chunk. Their DTensor placements say (_StridedShard, Shard); the storage
// is what is described here, and the two differ for some uneven sizes
// (torch/distributed/fsdp/_fully_shard/_fsdp_param.py).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/layout/fsdp_degrees.h"
#include "compiler/layout/layout_builder.h"
#include "compiler/layout/whole_parameter.h"
#include "foundation/error.h"

namespace reshard {

struct FsdpParameter {
  static constexpr int kWhole = -1;

  WholeParameter whole{};
  std::int64_t stage = 0;         // of the pipeline
  int tensor_dim = kWhole;        // what tensor parallelism cuts
  std::int64_t tensor_parts = 1;  // equal parts of that dim, each cut alone: gate rows, up rows
  // Spread over expert ranks where there are several, instead of cut by tensor
  // parallelism: a stack along its dim 0, one expert's own parameter as a
  // whole.
  bool expert = false;
  int shard_dim = 0;    // what FSDP cuts
  bool buffer = false;  // FSDP leaves buffers whole
};

// The block that the rank at `at` holds; nullopt if it is another expert
// rank's. Errors, naming the parameter: a scalar, which FSDP refuses; experts
// that do not divide; equal parts that do not either; a dim other than 0 that FSDP does not divide.
Result<std::optional<Block>> HeldBlock(const FsdpParameter& parameter, const FsdpDegrees& degrees,
                                       const FsdpCoordinates& at, std::int64_t expert_count);

// The layout of a group whose ranks hold their shares of `parameters`.
Result<GroupLayout> CutByFsdp(const Model& model, std::span<const FsdpParameter> parameters,
                              const FsdpDegrees& degrees, std::int64_t expert_count,
                              std::int64_t rank_count);

}  // namespace reshard
