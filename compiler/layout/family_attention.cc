#include "compiler/layout/family_attention.h"

#include <array>
#include <optional>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {

Result<AttentionHeads> HeadsOf(const FamilyTensors& model) {
  AttentionHeads heads;
  // Query heads first: of a bare tensor list they are what the error should ask for.
  for (const auto& [field, target] :
       {std::pair{"num_attention_heads", &heads.query},
        std::pair{"num_key_value_heads", &heads.key_value}, std::pair{"head_dim", &heads.dim}}) {
    const Result<std::int64_t> value = model.SizeField(field);
    if (!value) return tl::unexpected(value.error());
    *target = *value;
  }
  if (heads.query % heads.key_value != 0) {
    return InputError("model", std::to_string(heads.query) + " query heads do not divide by " +
                                   std::to_string(heads.key_value) + " key-value heads");
  }
  return heads;
}

Result<void> CheckHeads(const FamilyTensors& model, const AttentionHeads& heads,
                        std::span<const RoleTensors> query_key_value) {
  const std::array<std::int64_t, 3> counts{heads.query, heads.key_value, heads.key_value};
  if (query_key_value.size() != counts.size()) {
    const Tensor& first = model.tensor(query_key_value.front()[Kind::kWeight]);
    return InputError("model", first.name + " has not all of q, k and v beside it",
                      "list all three or none");
  }
  for (std::size_t part = 0; part < counts.size(); ++part) {
    const std::optional<std::int64_t> rows =
        CheckedMultiply(counts[part], part == 0 ? heads.query_dim() : heads.dim);
    if (rows && *rows == RowCount(model, query_key_value[part])) continue;
    return InputError("model", model.tensor(query_key_value[part][Kind::kWeight]).name + " has " +
                                   std::to_string(RowCount(model, query_key_value[part])) +
                                   " rows, not " + std::to_string(counts[part]) + " heads of " +
                                   std::to_string(part == 0 ? heads.query_dim() : heads.dim));
  }
  return {};
}

Result<Attention> AttentionOf(const FamilyTensors& model, const FamilyLayer& layer,
                              const std::string& parameter) {
  Attention attention;
  std::array<Role, 3> roles{Role::kAttentionQuery, Role::kAttentionKey, Role::kAttentionValue};
  const bool gated = layer[Role::kAttentionGatedQuery].held();
  attention.rotary_pairs =
      layer[Role::kAttentionRotaryQuery].held() || layer[Role::kAttentionRotaryKey].held();
  if (gated) roles[0] = Role::kAttentionGatedQuery;
  if (attention.rotary_pairs) {
    roles[0] = Role::kAttentionRotaryQuery;
    roles[1] = Role::kAttentionRotaryKey;
  }
  Result<std::vector<RoleTensors>> parts = Together(model, layer, roles, parameter);
  if (!parts) return tl::unexpected(parts.error());
  if (parts->empty()) return attention;
  const Result<AttentionHeads> heads = HeadsOf(model);
  if (!heads) return tl::unexpected(heads.error());
  attention.heads = *heads;
  attention.heads.gated = gated;
  const Result<void> checked = CheckHeads(model, attention.heads, *parts);
  if (!checked) return tl::unexpected(checked.error());
  if (attention.rotary_pairs && heads->dim % 2 != 0) {
    return InputError("model", model.tensor(parts->front()[Kind::kWeight]).name + ": heads of " +
                                   std::to_string(heads->dim) + " rows do not come in pairs");
  }
  attention.query_key_value = *std::move(parts);
  return attention;
}

std::vector<RowRange> RotaryHalves(const RowRange& rows, std::int64_t dim) {
  std::vector<RowRange> halves;
  halves.reserve(static_cast<std::size_t>(rows.end - rows.begin));
  for (std::int64_t head = rows.begin; head < rows.end; head += dim) {
    for (const std::int64_t second : {0, 1}) {
      for (std::int64_t row = head + second; row < head + dim; row += 2) {
        halves.push_back({rows.tensors, row, row + 1});
      }
    }
  }
  return halves;
}

std::vector<RowRange> RowsByGroup(const AttentionHeads& heads,
                                  std::span<const RoleTensors> query_key_value) {
  const std::int64_t group_size = heads.query / heads.key_value;
  const std::int64_t query_rows = group_size * heads.dim;
  std::vector<RowRange> rows;
  for (std::int64_t group = 0; group < heads.key_value; ++group) {
    if (heads.gated) {
      for (const std::int64_t part : {0, 1}) {
        for (std::int64_t head = group * group_size; head < (group + 1) * group_size; ++head) {
          const std::int64_t begin = head * heads.query_dim() + part * heads.dim;
          rows.push_back({query_key_value[0], begin, begin + heads.dim});
        }
      }
    } else {
      rows.push_back({query_key_value[0], group * query_rows, (group + 1) * query_rows});
    }
    rows.push_back({query_key_value[1], group * heads.dim, (group + 1) * heads.dim});
    rows.push_back({query_key_value[2], group * heads.dim, (group + 1) * heads.dim});
  }
  return rows;
}

Result<std::vector<RowRange>> RowsByRank(const AttentionHeads& heads,
                                         std::span<const RoleTensors> query_key_value,
                                         std::int64_t count, std::int64_t index,
                                         const std::string& name) {
  const Result<Share> query = EqualShare(heads.query, count, index, name + ": query heads");
  if (!query) return tl::unexpected(query.error());
  Share key_value;
  if (heads.key_value >= count) {
    const Result<Share> share =
        EqualShare(heads.key_value, count, index, name + ": key-value heads");
    if (!share) return tl::unexpected(share.error());
    key_value = *share;
  } else {
    if (count % heads.key_value != 0) {
      return InputError("", name + ": " + std::to_string(count) + " ranks do not divide by " +
                                std::to_string(heads.key_value) + " key-value heads");
    }
    const std::int64_t head = index / (count / heads.key_value);
    key_value = {head, head + 1};
  }
  const std::int64_t dim = heads.dim;
  const std::int64_t query_dim = heads.query_dim();
  return std::vector<RowRange>{
      {query_key_value[0], query->begin * query_dim, query->end * query_dim},
      {query_key_value[1], key_value.begin * dim, key_value.end * dim},
      {query_key_value[2], key_value.begin * dim, key_value.end * dim}};
}

}  // namespace reshard
