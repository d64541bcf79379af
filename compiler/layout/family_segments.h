// The rows of state-space mixers: what is joined in their projections, cut segment by segment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/layout/family_linear.h"
#include "compiler/layout/family_tensors.h"
#include "foundation/error.h"

namespace reshard {

// Share `index` of `count`.
struct SegmentShare {
  std::int64_t count = 1;
  std::int64_t index = 0;
};

// Mamba2. Rows of the input projection: z and x of `heads * head_dim`, B and C of `groups * state`,
// dt of `heads`.
struct MambaSizes {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t groups = 0;
  std::int64_t state = 0;
  // One group is held whole by every rank, where others are cut.
  bool replicates_one_group = false;
};
// From the config: mamba_num_heads, mamba_head_dim, n_groups, ssm_state_size.
Result<MambaSizes> MambaSizesOf(const FamilyTensors& model);

// The rank's rows of each segment, joined: z | x | B | C | dt (megatron/core/ssm/mamba_mixer.py;
// vLLM layers/mamba/mamba_mixer2.py). Errors: heads or groups that do not divide, a tensor whose
// rows are not the segments'.
Result<std::vector<RowRange>> MambaInputRows(const FamilyTensors& model, const MambaSizes& sizes,
                                             const RoleTensors& tensors, const SegmentShare& share);
// The same of the convolution: x | B | C.
Result<std::vector<RowRange>> MambaConvolutionRows(const FamilyTensors& model,
                                                   const MambaSizes& sizes,
                                                   const RoleTensors& tensors,
                                                   const SegmentShare& share);

// Gated delta nets. Each key head goes with value_heads / key_heads value heads.
struct DeltaSizes {
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;  // a multiple of key_heads
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
};
// From the config: linear_num_key_heads, linear_num_value_heads, linear_key_head_dim,
// linear_value_head_dim.
Result<DeltaSizes> DeltaSizesOf(const FamilyTensors& model);

// Whether a layer holds any tensor of the input projection, however joined.
bool HoldsDeltaInput(const FamilyLayer& layer);
// The rank's rows of q | k | v | z | b | a, heads in order, whichever way the layer's tensors join
// them. Errors as above; tensors of a layer that lacks others of them.
Result<std::vector<RowRange>> DeltaInputRows(const FamilyTensors& model, const DeltaSizes& sizes,
                                             const FamilyLayer& layer, const SegmentShare& share);
// q | k | v of the convolution.
Result<std::vector<RowRange>> DeltaConvolutionRows(const FamilyTensors& model,
                                                   const DeltaSizes& sizes,
                                                   const RoleTensors& tensors,
                                                   const SegmentShare& share);

}  // namespace reshard
