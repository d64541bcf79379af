#include "compiler/layout/torchtitan_parameters.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "compiler/layout/family_attention.h"
#include "compiler/layout/family_linear.h"

namespace reshard {
namespace {

// A parameter of one tensor: its name behind "layers.N.", and the dim tensor
// parallelism cuts.
struct TitanName {
  std::string_view name;
  int tensor_dim = FsdpParameter::kWhole;
};

constexpr int kWhole = FsdpParameter::kWhole;

const std::map<Role, TitanName>& LayerNames() {
  static const std::map<Role, TitanName> kNames{
      {Role::kAttentionInputNorm, {"attention_norm.weight", kWhole}},
      {Role::kMlpInputNorm, {"ffn_norm.weight", kWhole}},
      {Role::kAttentionQuery, {"attention.qkv_linear.wq.weight", 0}},
      {Role::kAttentionKey, {"attention.qkv_linear.wk.weight", 0}},
      {Role::kAttentionValue, {"attention.qkv_linear.wv.weight", 0}},
      {Role::kAttentionOutput, {"attention.wo.weight", 1}},
      {Role::kAttentionQueryNorm, {"attention.q_norm.weight", kWhole}},
      {Role::kAttentionKeyNorm, {"attention.k_norm.weight", kWhole}},
      {Role::kMlaQuery, {"attention.wq.weight", 0}},
      {Role::kMlaQueryDown, {"attention.wq_a.weight", kWhole}},
      {Role::kMlaQueryNorm, {"attention.q_norm.weight", kWhole}},
      {Role::kMlaQueryUp, {"attention.wq_b.weight", 0}},
      {Role::kMlaKeyValueDown, {"attention.wkv_a.weight", kWhole}},
      {Role::kMlaKeyValueNorm, {"attention.kv_norm.weight", kWhole}},
      {Role::kMlaKeyValueUp, {"attention.wkv_b.weight", 0}},
      {Role::kMlaOutput, {"attention.wo.weight", 1}},
      {Role::kMlpGate, {"feed_forward.w1.weight", 0}},
      {Role::kMlpUp, {"feed_forward.w3.weight", 0}},
      {Role::kMlpDown, {"feed_forward.w2.weight", 1}},
      {Role::kRouter, {"moe.router.gate.weight", kWhole}},
      {Role::kRouterExpertBias, {"moe.expert_bias_E", kWhole}},
      {Role::kSharedExpertGate, {"moe.shared_experts.w1.weight", 0}},
      {Role::kSharedExpertUp, {"moe.shared_experts.w3.weight", 0}},
      {Role::kSharedExpertDown, {"moe.shared_experts.w2.weight", 1}},
  };
  return kNames;
}

class ParameterList {
 public:
  ParameterList(const FamilyTensors& model, const FsdpDegrees& degrees,
                const TorchtitanStages& stages, bool fused_qkv)
      : model_(model), degrees_(degrees), stages_(stages), fused_qkv_(fused_qkv) {}

  Result<std::vector<FsdpParameter>> Build() && {
    if (const Result<void> added = AddEnds(); !added) return tl::unexpected(added.error());
    for (const auto& [index, layer] : model_.layers()) {
      if (layer.mtp) continue;
      prefix_ = "layers." + std::to_string(index) + ".";
      stage_ = stages_.of_layer[static_cast<std::size_t>(index)];
      for (const auto add : {&ParameterList::AddGroupedQuery, &ParameterList::AddRoles,
                             &ParameterList::AddExperts}) {
        const Result<void> added = (this->*add)(layer);
        if (!added) return tl::unexpected(added.error());
      }
    }
    return std::move(parameters_);
  }

 private:
  // The weight alone: torchtitan's linears of these models have no bias, and it
  // trains unscaled.
  Result<WholeParameter> WeightOf(const RoleTensors& tensors) const {
    for (const Kind kind : {Kind::kBias, Kind::kScale}) {
      if (tensors[kind] == kNoTensor) continue;
      return InputError("",
                        model_.tensor(tensors[kind]).name + ": torchtitan has no parameter for it");
    }
    return WholeTensor(model_, tensors[Kind::kWeight]);
  }

  void Append(WholeParameter whole, std::string name, std::int64_t stage, int tensor_dim) {
    FsdpParameter parameter;
    whole.name = std::move(name);
    parameter.whole = std::move(whole);
    parameter.stage = stage;
    parameter.tensor_dim = tensor_dim;
    parameters_.push_back(std::move(parameter));
  }

  Result<void> AddEnd(const RoleTensors& tensors, const std::string& name, std::int64_t stage,
                      int tensor_dim) {
    if (!tensors.held()) return {};
    Result<WholeParameter> weight = WeightOf(tensors);
    if (!weight) return tl::unexpected(weight.error());
    Append(*std::move(weight), name, stage, tensor_dim);
    return {};
  }

  // A tied LM head on another rank than the embedding is a copy of it.
  Result<void> AddEnds() {
    const RoleTensors& embedding = model_[Role::kEmbedding];
    if (const auto added = AddEnd(embedding, "tok_embeddings.weight", stages_.first, 0); !added) {
      return added;
    }
    const auto norm = AddEnd(model_[Role::kFinalNorm], "norm.weight", stages_.last, kWhole);
    if (!norm) return norm;
    if (model_.tied() && stages_.first == stages_.last) return {};
    return AddEnd(model_.tied() ? embedding : model_[Role::kLmHead], "lm_head.weight", stages_.last,
                  0);
  }

  // Rows within a head: row 2j + b is Hugging Face's row b * d / 2 + j
  // (models/llama3/state_dict_adapter.py).
  Result<Block> PairRotaryRows(const Block& block, std::int64_t head_dim,
                               const std::string& name) const {
    constexpr std::int64_t kPair = 2;
    if (head_dim % kPair != 0) {
      return InputError(
          "", name + ": heads of " + std::to_string(head_dim) + " rows have no rotary pairs");
    }
    const Result<Block> heads = block.SplitDim(0, head_dim);
    if (!heads) return tl::unexpected(heads.error());
    const Result<Block> halves = heads->SplitDim(1, head_dim / kPair);
    if (!halves) return tl::unexpected(halves.error());
    static constexpr std::array kPairsLast{0, 2, 1, 3};
    const Result<Block> rows = halves->Transpose(kPairsLast).MergeDims(1);
    if (!rows) return tl::unexpected(rows.error());
    return rows->MergeDims(0);
  }

  Result<void> AddGroupedQuery(const FamilyLayer& layer) {
    static constexpr std::array kParts{Role::kAttentionQuery, Role::kAttentionKey,
                                       Role::kAttentionValue};
    const Result<std::vector<RoleTensors>> parts =
        Together(model_, layer, kParts, prefix_ + "attention.qkv_linear");
    if (!parts) return tl::unexpected(parts.error());
    if (parts->empty()) return {};
    const Result<AttentionHeads> heads = HeadsOf(model_);
    if (!heads) return tl::unexpected(heads.error());
    if (const Result<void> checked = CheckHeads(model_, *heads, *parts); !checked) return checked;
    const Result<Share> share =
        EqualShare(heads->key_value, degrees_.tensor, 0, prefix_ + "attention: key-value heads");
    if (!share) return tl::unexpected(share.error());
    std::vector<WholeParameter> whole;
    for (std::size_t p = 0; p < kParts.size(); ++p) {
      Result<WholeParameter> weight = WeightOf((*parts)[p]);
      if (!weight) return tl::unexpected(weight.error());
      if (model_.family().name == "llama" && kParts.at(p) != Role::kAttentionValue) {
        Result<Block> rows = PairRotaryRows(weight->block, heads->dim, weight->name);
        if (!rows) return tl::unexpected(rows.error());
        weight->block = *std::move(rows);
      }
      whole.push_back(*std::move(weight));
    }
    if (!fused_qkv_) {
      for (std::size_t p = 0; p < kParts.size(); ++p) {
        const TitanName& named = LayerNames().at(kParts.at(p));
        Append(std::move(whole[p]), prefix_ + std::string(named.name), stage_, named.tensor_dim);
      }
      return {};
    }
    return AddFused(*heads, std::move(whole));
  }

  Result<void> AddFused(const AttentionHeads& heads, std::vector<WholeParameter> whole) {
    const std::string name = prefix_ + "attention.qkv_linear.wqkv.weight";
    std::vector<Block> rows;
    for (std::int64_t group = 0; group < heads.key_value; ++group) {
      const std::int64_t query = heads.query / heads.key_value * heads.dim;
      for (const auto& [part, size] :
           {std::pair{0U, query}, std::pair{1U, heads.dim}, std::pair{2U, heads.dim}}) {
        if (whole[part].dtype != whole[0].dtype) {
          return InputError("", name + ": query, key and value differ in dtype");
        }
        rows.push_back(whole[part].block.Slice(0, group * size, (group + 1) * size));
      }
    }
    whole[0].block = Block::Concat(0, rows);
    Append(std::move(whole[0]), name, stage_, 0);
    return {};
  }

  Result<void> AddRoles(const FamilyLayer& layer) {
    for (std::size_t r = 0; r < kRoleCount; ++r) {
      const Role role{static_cast<std::uint8_t>(r)};
      const RoleTensors& tensors = layer[role];
      if (tensors.empty() || role == Role::kAttentionQuery || role == Role::kAttentionKey ||
          role == Role::kAttentionValue) {
        continue;
      }
      const auto named = LayerNames().find(role);
      if (named == LayerNames().end() || !tensors.held()) {
        for (const TensorIndex index : tensors.of_kind) {
          if (index == kNoTensor) continue;
          return InputError(
              "", model_.tensor(index).name + ": torchtitan has no known parameter for it",
              "say the layout explicitly");
        }
      }
      if (role == Role::kMlaQuery || role == Role::kMlaQueryUp || role == Role::kMlaKeyValueUp) {
        if (const Result<void> checked = CheckLatentHeads(); !checked) return checked;
      }
      Result<WholeParameter> weight = WeightOf(tensors);
      if (!weight) return tl::unexpected(weight.error());
      Append(*std::move(weight), prefix_ + std::string(named->second.name), stage_,
             named->second.tensor_dim);
      parameters_.back().buffer = role == Role::kRouterExpertBias;
    }
    return {};
  }

  Result<void> CheckLatentHeads() const {
    if (degrees_.tensor == 1) return {};
    const Result<std::int64_t> heads = model_.Field("num_attention_heads");
    if (!heads) return tl::unexpected(heads.error());
    const Result<Share> share =
        EqualShare(*heads, degrees_.tensor, 0, prefix_ + "attention: query heads");
    if (!share) return tl::unexpected(share.error());
    return {};
  }

  // Over more ranks than there are experts FSDP cuts them along dim 1
  // (torchtitan/distributed/fsdp.py).
  int ExpertShardDim() const {
    const std::int64_t ranks = degrees_.expert > 1 ? degrees_.expert_shards() * degrees_.expert
                                                   : degrees_.replicate * degrees_.dense_shards();
    return ranks > model_.expert_count() ? 1 : 0;
  }

  Result<void> AddExperts(const FamilyLayer& layer) {
    constexpr int kRows = 1;
    constexpr int kColumns = 2;
    const std::string module = prefix_ + "moe.routed_experts.inner_experts.";
    for (const auto& [role, name, tensor_dim] :
         {std::tuple{Role::kExpertGate, "w1_EFD", kRows},
          std::tuple{Role::kExpertUp, "w3_EFD", kRows},
          std::tuple{Role::kExpertDown, "w2_EDF", kColumns}}) {
      for (const Kind kind : {Kind::kBias, Kind::kScale}) {
        for (const auto& [expert, tensors] : layer.experts) {
          if (tensors[role][kind] == kNoTensor) continue;
          return InputError(
              "", model_.tensor(tensors[role][kind]).name + ": torchtitan has no parameter for it");
        }
      }
      Result<std::optional<WholeParameter>> stack =
          StackExperts(model_, layer, role, Kind::kWeight, module + name);
      if (!stack) return tl::unexpected(stack.error());
      if (!*stack) continue;
      Append(**std::move(stack), module + name, stage_, tensor_dim);
      parameters_.back().expert = true;
      parameters_.back().shard_dim = ExpertShardDim();
    }
    return {};
  }

  const FamilyTensors& model_;
  const FsdpDegrees& degrees_;
  const TorchtitanStages& stages_;
  bool fused_qkv_;
  std::vector<FsdpParameter> parameters_;
  std::string prefix_;  // of the layer being added
  std::int64_t stage_ = 0;
};

}  // namespace

Result<std::vector<FsdpParameter>> TorchtitanParameters(const FamilyTensors& model,
                                                        const FsdpDegrees& degrees,
                                                        const TorchtitanStages& stages,
                                                        bool fused_qkv) {
  return ParameterList(model, degrees, stages, fused_qkv).Build();
}

}  // namespace reshard
