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
};

// The heads of a model. Where neither config nor tensors tell them, the error names the field to
// give.
Result<AttentionHeads> HeadsOf(const FamilyTensors& model);

// q, k, v in this order; each has the rows its heads need, or an error.
Result<void> CheckHeads(const FamilyTensors& model, const AttentionHeads& heads,
                        std::span<const RoleTensors> query_key_value);

// Megatron's order: for each group of one key and value head, its query heads | k | v
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
