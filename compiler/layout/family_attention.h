// The rows of grouped-query attention, as frameworks fuse them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/layout/family_linear.h"
#include "compiler/layout/family_tensors.h"
#include "foundation/error.h"

namespace reshard {

struct AttentionHeads {
  std::int64_t query = 0;      // query heads
  std::int64_t key_value = 0;  // key and value heads; divides `query`
  std::int64_t dim = 0;        // rows of a head
  bool gated = false;          // behind each query head's rows as many of the output's gate

  std::int64_t query_dim() const { return gated ? 2 * dim : dim; }
};

// The heads of a model without gates. Where neither config nor tensors tell them, the error names
// the field to give.
Result<AttentionHeads> HeadsOf(const FamilyTensors& model);

// q, k, v in this order; each has the rows its heads need, or an error.
Result<void> CheckHeads(const FamilyTensors& model, const AttentionHeads& heads,
                        std::span<const RoleTensors> query_key_value);

// The grouped-query attention of a layer.
struct Attention {
  std::vector<RoleTensors> query_key_value;  // in this order; empty where the layer has none
  AttentionHeads heads;
  bool rotary_pairs =
      false;  // rows 2j and 2j + 1 of a q or k head rotate together, not j and d/2 + j
};

// Whichever roles q and k have. Errors: some of q, k and v only, rows that do not fit the heads;
// they name `parameter`, which the tensors form.
Result<Attention> AttentionOf(const FamilyTensors& model, const FamilyLayer& layer,
                              const std::string& parameter);

// The rows of whole heads of `dim` rows in pairs, with the first of all pairs of a head before the
// second: row b * dim / 2 + j <- row 2 j + b (vLLM models/llama4.py
// permute_qk_weight_for_rotary). `dim` is even (precondition).
std::vector<RowRange> RotaryHalves(const RowRange& rows, std::int64_t dim);

// Megatron's order: for each group of one key and value head, its query heads | their gates | k | v
// (Megatron-Bridge models/conversion/param_mapping.py, merge_qkv_weights).
std::vector<RowRange> RowsByGroup(const AttentionHeads& heads,
                                  std::span<const RoleTensors> query_key_value);

// vLLM's order on rank `index` of `count`: its query heads | its k heads | its v heads; where there
// are more ranks than key-value heads, count / heads neighbours hold the same one
// (model_executor/layers/linear.py, QKVParallelLinear). `name` is the parameter's, for errors.
Result<std::vector<RowRange>> RowsByRank(const AttentionHeads& heads,
                                         std::span<const RoleTensors> query_key_value,
                                         std::int64_t count, std::int64_t index,
                                         const std::string& name);

}  // namespace reshard
