#include "compiler/layout/sglang_degrees.h"

#include <optional>
#include <string>
#include <utility>

#include "compiler/layout/stage_layers.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// whole / (first * second), the quotient that a pair of degrees leaves of another.
Result<std::int64_t> Quotient(const JsonCursor& fields, std::int64_t whole,
                              const std::string& of_what, std::int64_t first, std::int64_t second,
                              const std::string& product) {
  const std::optional<std::int64_t> divisor = CheckedMultiply(first, second);
  if (divisor && whole % *divisor == 0) return whole / *divisor;
  return fields.Fail(product + " = " + std::to_string(first) + " x " + std::to_string(second) +
                     " does not divide " + of_what + " " + std::to_string(whole));
}

Result<std::size_t> ReadChoice(const JsonCursor& fields, std::string_view name,
                               std::span<const std::string_view> choices) {
  const Result<std::string> value = fields.StringOr(name, std::string(choices.front()));
  if (!value) return tl::unexpected(value.error());
  std::string known;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == *value) return i;
    known += (i == 0 ? "'" : ", '") + std::string(choices[i]) + "'";
  }
  return fields.Field(name)->Fail("unknown value '" + *value + "'", "known are " + known);
}

Result<void> ReadChoices(const JsonCursor& fields, SglangDegrees& degrees) {
  if (fields.Has("sharedExperts")) {
    static constexpr std::array<std::string_view, 3> kWays{"tensor", "replicated", "appended"};
    const Result<std::size_t> way = ReadChoice(fields, "sharedExperts", kWays);
    if (!way) return tl::unexpected(way.error());
    static constexpr std::array kMeant{SglangSharedExperts::kTensor,
                                       SglangSharedExperts::kReplicated,
                                       SglangSharedExperts::kAppended};
    degrees.shared_experts = kMeant.at(*way);
  }
  static constexpr std::array<std::string_view, 2> kRows{"gateUp", "upGate"};
  const Result<std::size_t> rows = ReadChoice(fields, "expertRows", kRows);
  if (!rows) return tl::unexpected(rows.error());
  degrees.up_first = *rows == 1;
  for (const auto& [name, flag] :
       {std::pair{"replicatedEmbedding", &degrees.replicated_embedding},
        std::pair{"lmHeadOverAttention", &degrees.lm_head_over_attention}}) {
    const Result<bool> value = fields.BoolOr(name, false);
    if (!value) return tl::unexpected(value.error());
    *flag = *value;
  }
  return {};
}

}  // namespace

Result<SglangDegrees> ReadSglangDegrees(const JsonCursor& fields, std::int64_t rank_count) {
  const Result<void> known = fields.ExpectFields(kSglangFields);
  if (!known) return tl::unexpected(known.error());
  SglangDegrees degrees;
  for (const auto& [name, degree] :
       {std::pair{"tensor", &degrees.tensor}, std::pair{"pipeline", &degrees.pipeline},
        std::pair{"attentionData", &degrees.attention_data},
        std::pair{"attentionContext", &degrees.attention_context},
        std::pair{"expert", &degrees.expert}, std::pair{"expertData", &degrees.expert_data}}) {
    const Result<std::int64_t> value = fields.IntegerOr(name, 1, kPositiveInteger);
    if (!value) return tl::unexpected(value.error());
    *degree = *value;
  }
  const Result<std::int64_t> replicas =
      Quotient(fields, rank_count, "the GPUs of the group,", degrees.tensor, degrees.pipeline,
               "tensor x pipeline");
  if (!replicas) return tl::unexpected(replicas.error());
  degrees.replicas = *replicas;
  const Result<std::int64_t> attention =
      Quotient(fields, degrees.tensor, "tensor", degrees.attention_data, degrees.attention_context,
               "attentionData x attentionContext");
  if (!attention) return tl::unexpected(attention.error());
  degrees.attention_tensor = *attention;
  const Result<std::int64_t> expert = Quotient(fields, degrees.tensor, "tensor", degrees.expert,
                                               degrees.expert_data, "expert x expertData");
  if (!expert) return tl::unexpected(expert.error());
  degrees.expert_tensor = *expert;
  const Result<std::int64_t> dense =
      fields.IntegerOr("denseTensor", degrees.tensor, kPositiveInteger);
  if (!dense) return tl::unexpected(dense.error());
  if (*dense != 1 && *dense != degrees.tensor) {
    return fields.Field("denseTensor")
        ->Fail("SGLang knows 1 and tensor, " + std::to_string(degrees.tensor) + ", not " +
               std::to_string(*dense));
  }
  degrees.dense_tensor = *dense;
  if (const Result<void> read = ReadChoices(fields, degrees); !read) {
    return tl::unexpected(read.error());
  }
  return degrees;
}

SglangCoordinates PlaceSglangRank(const SglangDegrees& degrees, std::int64_t rank) {
  SglangCoordinates at;
  at.tensor = rank % degrees.tensor;
  at.pipeline = rank / degrees.tensor % degrees.pipeline;
  at.attention_tensor = at.tensor % degrees.attention_tensor;
  at.expert_tensor = at.tensor % degrees.expert_tensor;
  at.expert = at.tensor / degrees.expert_tensor % degrees.expert;
  return at;
}

Result<std::vector<std::int64_t>> PlaceSglangLayers(const JsonCursor& fields,
                                                    std::int64_t stage_count,
                                                    std::int64_t layer_count) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(stage_count),
                                   layer_count / stage_count);
  for (std::int64_t i = 0; i < layer_count % stage_count; ++i) {
    ++counts[static_cast<std::size_t>(stage_count - 1 - i)];
  }
  return FirstLayers(fields, counts, layer_count);
}

}  // namespace reshard
