#include "compiler/layout/megatron_layer.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "compiler/layout/megatron_layer_builder.h"

namespace reshard {

MegatronLayerBuilder::MegatronLayerBuilder(const FamilyTensors& model,
                                           const MegatronDegrees& degrees,
                                           const MegatronCoordinates& at, const FamilyLayer& layer,
                                           RankLayoutBuilder& builder)
    : model_(model),
      degrees_(degrees),
      at_(at),
      layer_(layer),
      builder_(builder),
      linear_(model, builder),
      prefix_(layer.mtp ? MtpPrefix() + "mtp_model_layer."
                        : model.NameIn("megatron",
                                       "decoder.layers." + std::to_string(layer.index) + ".")) {}

Result<void> MegatronLayerBuilder::Add() {
  using Builder = MegatronLayerBuilder;
  for (const auto add :
       {&Builder::AddNorms, &Builder::AddGroupedQuery, &Builder::AddLatent, &Builder::AddMamba,
        &Builder::AddDelta, &Builder::AddDense, &Builder::AddRouter, &Builder::AddShared,
        &Builder::AddExperts, &Builder::AddExpertStack, &Builder::AddMtp}) {
    if (const Result<void> added = (this->*add)(); !added) return added;
  }
  return {};
}

std::string MegatronLayerBuilder::MtpPrefix() const {
  return model_.NameIn("megatron",
                       "mtp.layers." + std::to_string(layer_.index - model_.layer_count()) + ".");
}

const std::string& MegatronLayerBuilder::NameOf(const RoleTensors& tensors) const {
  return model_.tensor(tensors[Kind::kWeight]).name;
}

// A tensor whole, as a parameter of its own.
Result<void> MegatronLayerBuilder::AddWhole(Role role, const std::string& parameter) {
  const RoleTensors& tensors = layer_[role];
  if (!tensors.held()) return {};
  return linear_.Add({.weight = parameter}, {.rows = {AllRows(model_, tensors)}});
}

Result<void> MegatronLayerBuilder::AddCutVector(Role role, const std::string& parameter) {
  if (!layer_[role].held()) return {};
  const Result<LinearCut> cut = Columns(std::span(&layer_[role], 1), Dense());
  if (!cut) return tl::unexpected(cut.error());
  return linear_.Add({.weight = parameter}, *cut);
}

Result<void> MegatronLayerBuilder::AddWholeLinear(Role role, const std::string& module) {
  const RoleTensors& tensors = layer_[role];
  if (!tensors.held()) return {};
  return linear_.Add(MegatronNames(module), {.rows = {AllRows(model_, tensors)}});
}

// Column parallel: of each part its share of the rows, joined.
Result<LinearCut> MegatronLayerBuilder::Columns(std::span<const RoleTensors> parts,
                                                const Over& over) const {
  LinearCut cut;
  for (const RoleTensors& part : parts) {
    const Result<Share> share =
        EqualShare(RowCount(model_, part), over.count, over.index, NameOf(part) + ": rows");
    if (!share) return tl::unexpected(share.error());
    cut.rows.push_back({part, share->begin, share->end});
  }
  return cut;
}

// Row parallel: all rows, a share of the columns. The bias is added once, and kept whole.
Result<LinearCut> MegatronLayerBuilder::Rows(const RoleTensors& tensors, const Over& over) const {
  const Result<Share> share = EqualShare(ColumnCount(model_, tensors), over.count, over.index,
                                         NameOf(tensors) + ": columns");
  if (!share) return tl::unexpected(share.error());
  LinearCut cut{.rows = {AllRows(model_, tensors)}};
  cut.column_begin = share->begin;
  cut.column_end = share->end;
  return cut;
}

Result<void> MegatronLayerBuilder::AddColumnParallel(Role role, const std::string& module) {
  if (!layer_[role].held()) return {};
  const Result<LinearCut> cut = Columns(std::span(&layer_[role], 1), Dense());
  if (!cut) return tl::unexpected(cut.error());
  return linear_.Add(MegatronNames(module), *cut);
}

Result<void> MegatronLayerBuilder::AddRowParallel(Role role, const std::string& module) {
  if (!layer_[role].held()) return {};
  const Result<LinearCut> cut = Rows(layer_[role], Dense());
  if (!cut) return tl::unexpected(cut.error());
  return linear_.Add(MegatronNames(module), *cut);
}

// Gate and up of one module: the rank's rows of gate, then its rows of up.
Result<void> MegatronLayerBuilder::AddGateUp(const std::array<Role, 2>& roles,
                                             const std::string& module) {
  const Result<std::vector<RoleTensors>> parts = Together(model_, layer_, roles, module);
  if (!parts || parts->empty()) {
    return parts ? Result<void>() : tl::unexpected(parts.error());
  }
  const Result<LinearCut> cut = Columns(*parts, Dense());
  if (!cut) return tl::unexpected(cut.error());
  return linear_.Add(MegatronNames(module), *cut);
}

bool MegatronLayerBuilder::IsMoe() const {
  if (!layer_.experts.empty()) return true;
  static constexpr std::array kOfExperts{Role::kRouter, Role::kRouterExpertBias,
                                         Role::kExpertsGateUp, Role::kExpertsGateUpByInput,
                                         Role::kExpertsGateUpInterleaved};
  return std::any_of(kOfExperts.begin(), kOfExperts.end(),
                     [&](Role role) { return layer_[role].held(); });
}

// Where the one norm before attention, a mixer, experts or a perceptron sits: inside the linear
// that follows, where that is one fused linear; before latent attention's two down projections and
// before a router it is a module of its own.
Result<std::string> MegatronLayerBuilder::InputNormName() const {
  if (layer_[Role::kMambaInput].held()) return prefix_ + "mixer.in_proj.layer_norm_weight";
  if (layer_[Role::kDeltaQkvz].held() || layer_[Role::kDeltaQkv].held()) {
    return prefix_ + "self_attention.in_proj.layer_norm_weight";
  }
  if (layer_[Role::kAttentionValue].held()) {
    return prefix_ + "self_attention.linear_qkv.layer_norm_weight";
  }
  const Family& family = model_.family();
  if (family.HasRole(Role::kMlaKeyValueDown)) return prefix_ + "input_layernorm.weight";
  if (layer_[Role::kAttentionInputNorm].held()) {
    const bool mixed = family.HasRole(Role::kDeltaALog) && !layer_.mtp;
    if (!mixed) return prefix_ + "self_attention.linear_qkv.layer_norm_weight";
  } else if (IsMoe()) {
    return prefix_ + "pre_mlp_layernorm.weight";
  } else if (layer_[Role::kMlpUp].held()) {
    return prefix_ + "mlp.linear_fc1.layer_norm_weight";
  }
  return InputError("model",
                    "layer " + std::to_string(layer_.index) +
                        " has a norm before a mixer of which nothing is listed",
                    "list what follows the norm, or leave the norm out");
}

Result<void> MegatronLayerBuilder::AddNorms() {
  for (const Role role : {Role::kAttentionInputNorm, Role::kBlockInputNorm}) {
    if (!layer_[role].held()) continue;
    const Result<std::string> name = InputNormName();
    if (!name) return tl::unexpected(name.error());
    if (const Result<void> added = AddWhole(role, *name); !added) return added;
  }
  const std::string mlp_input =
      IsMoe() ? "pre_mlp_layernorm.weight" : "mlp.linear_fc1.layer_norm_weight";
  for (const auto& [role, name] :
       {std::pair{Role::kAttentionOutputNorm,
                  std::string("self_attention.linear_proj.post_layernorm.weight")},
        std::pair{Role::kMlpInputNorm, mlp_input},
        std::pair{Role::kMlpOutputNorm, std::string("mlp.linear_fc2.post_layernorm.weight")}}) {
    if (const Result<void> added = AddWhole(role, prefix_ + name); !added) return added;
  }
  return {};
}

Result<void> MegatronLayerBuilder::AddGroupedQuery() {
  const std::string module = prefix_ + "self_attention.";
  const Result<Attention> attention = AttentionOf(model_, layer_, module + "linear_qkv");
  if (!attention) return tl::unexpected(attention.error());
  if (!attention->query_key_value.empty()) {
    const AttentionHeads& heads = attention->heads;
    const Result<Share> whole_heads =
        EqualShare(heads.query, degrees_.tensor, at_.tensor, module + "linear_qkv: query heads");
    if (!whole_heads) return tl::unexpected(whole_heads.error());
    // Raw rows of the joined groups are cut: where there are more ranks than groups, a rank's
    // share begins and ends inside one.
    const std::vector<RowRange> rows = RowsByGroup(heads, attention->query_key_value);
    const Result<Share> share =
        EqualShare(RowCount(rows), degrees_.tensor, at_.tensor, module + "linear_qkv: rows");
    if (!share) return tl::unexpected(share.error());
    const Result<void> added = linear_.Add(MegatronNames(module + "linear_qkv"),
                                           {.rows = SliceRows(rows, share->begin, share->end)});
    if (!added) return added;
  }
  for (const auto& [role, name] : {std::pair{Role::kAttentionQueryNorm, "q_layernorm.weight"},
                                   std::pair{Role::kAttentionKeyNorm, "k_layernorm.weight"}}) {
    if (const Result<void> added = AddWhole(role, module + name); !added) return added;
  }
  const Result<void> sinks =
      AddCutVector(Role::kAttentionSinks, module + "core_attention.softmax_offset");
  if (!sinks) return sinks;
  return AddRowParallel(Role::kAttentionOutput, module + "linear_proj");
}

// Multi-head latent attention: both down projections whole on every rank, heads cut in the up
// projections, whose norms sit inside them (megatron/core/transformer/multi_latent_attention.py).
Result<void> MegatronLayerBuilder::AddLatent() {
  const std::string module = prefix_ + "self_attention.";
  for (const auto& [role, name] : {std::pair{Role::kMlaQueryDown, "linear_q_down_proj"},
                                   std::pair{Role::kMlaKeyValueDown, "linear_kv_down_proj"}}) {
    if (const Result<void> added = AddWholeLinear(role, module + name); !added) return added;
  }
  for (const auto& [role, name] :
       {std::pair{Role::kMlaQueryNorm, "linear_q_up_proj.layer_norm_weight"},
        std::pair{Role::kMlaKeyValueNorm, "linear_kv_up_proj.layer_norm_weight"}}) {
    if (const Result<void> added = AddWhole(role, module + name); !added) return added;
  }
  for (const auto& [role, name] : {std::pair{Role::kMlaQuery, "linear_q_proj"},
                                   std::pair{Role::kMlaQueryUp, "linear_q_up_proj"},
                                   std::pair{Role::kMlaKeyValueUp, "linear_kv_up_proj"}}) {
    if (!layer_[role].held()) continue;
    const Result<void> checked = CheckWholeHeads(module + name);
    if (!checked) return checked;
    if (const Result<void> added = AddColumnParallel(role, module + name); !added) return added;
  }
  return AddRowParallel(Role::kMlaOutput, module + "linear_proj");
}

Result<void> MegatronLayerBuilder::CheckWholeHeads(const std::string& module) const {
  if (degrees_.tensor == 1) return {};
  const Result<std::int64_t> heads = model_.Field("num_attention_heads");
  if (!heads) return tl::unexpected(heads.error());
  const Result<Share> share = EqualShare(*heads, degrees_.tensor, 0, module + ": query heads");
  if (!share) return tl::unexpected(share.error());
  return {};
}

Result<void> MegatronLayerBuilder::AddDense() {
  const Result<void> added = AddGateUp({Role::kMlpGate, Role::kMlpUp}, prefix_ + "mlp.linear_fc1");
  if (!added) return added;
  return AddRowParallel(Role::kMlpDown, prefix_ + "mlp.linear_fc2");
}

Result<void> MegatronLayerBuilder::AddRouter() {
  for (const auto& [role, name] :
       {std::pair{Role::kRouter, "mlp.router"}, std::pair{Role::kLatentDown, "mlp.fc1_latent_proj"},
        std::pair{Role::kLatentUp, "mlp.fc2_latent_proj"}}) {
    if (const Result<void> added = AddWholeLinear(role, prefix_ + name); !added) return added;
  }
  // A persistent buffer of Megatron, no parameter; it is refitted all the same.
  return AddWhole(Role::kRouterExpertBias, prefix_ + "mlp.router.expert_bias");
}

// Over the dense tensor ranks, not the expert ones (transformer/moe/shared_experts.py).
Result<void> MegatronLayerBuilder::AddShared() {
  const std::string module = prefix_ + "mlp.shared_experts.";
  const Result<void> gate_up =
      AddGateUp({Role::kSharedExpertGate, Role::kSharedExpertUp}, module + "linear_fc1");
  if (!gate_up) return gate_up;
  const Result<void> down = AddRowParallel(Role::kSharedExpertDown, module + "linear_fc2");
  if (!down) return down;
  return AddWhole(Role::kSharedExpertRouter, module + "gate_weight");
}

// One buffer for each of the rank's experts: the contiguous share of its expert rank.
Result<void> MegatronLayerBuilder::AddExperts() {
  if (layer_.experts.empty()) return {};
  const Result<Share> experts =
      EqualShare(model_.expert_count(), degrees_.expert, at_.expert, prefix_ + "mlp.experts");
  if (!experts) return tl::unexpected(experts.error());
  for (auto entry = layer_.experts.lower_bound(experts->begin);
       entry != layer_.experts.end() && entry->first < experts->end; ++entry) {
    const std::string number = std::to_string(entry->first);
    static constexpr std::array kGateUp{Role::kExpertGate, Role::kExpertUp};
    const std::string module = prefix_ + "mlp.experts.linear_fc1";
    const Result<std::vector<RoleTensors>> parts =
        Together(model_, layer_, entry->first, kGateUp, module + ".weight" + number);
    if (!parts) return tl::unexpected(parts.error());
    if (!parts->empty()) {
      const Result<LinearCut> cut = Columns(*parts, ExpertTensor());
      if (!cut) return tl::unexpected(cut.error());
      const Result<void> added = linear_.Add(MegatronNames(module, number), *cut);
      if (!added) return added;
    }
    const RoleTensors& down = entry->second[Role::kExpertDown];
    if (!down.held()) continue;
    const Result<LinearCut> cut = Rows(down, ExpertTensor());
    if (!cut) return tl::unexpected(cut.error());
    const Result<void> added =
        linear_.Add(MegatronNames(prefix_ + "mlp.experts.linear_fc2", number), *cut);
    if (!added) return added;
  }
  return {};
}

// Embedding and LM head of the prediction layer are the main ones.
Result<void> MegatronLayerBuilder::AddMtp() {
  if (!layer_.mtp) return {};
  const std::string module = MtpPrefix();
  for (const auto& [role, name] : {std::pair{Role::kMtpEmbeddingNorm, "enorm.weight"},
                                   std::pair{Role::kMtpHiddenNorm, "hnorm.weight"},
                                   std::pair{Role::kMtpFinalNorm, "final_layernorm.weight"}}) {
    if (const Result<void> added = AddWhole(role, module + name); !added) return added;
  }
  return AddColumnParallel(Role::kMtpProjection, module + "eh_proj");
}

LinearNames MegatronNames(const std::string& module, const std::string& number) {
  // Transformer Engine pads the columns of a scale to 4 (tensor/float8_blockwise_tensor.py).
  constexpr std::int64_t kScaleColumnsMultiple = 4;
  return {.weight = module + ".weight" + number,
          .bias = module + ".bias" + number,
          .scale = module + ".weight" + number + "._rowwise_scale_inv",
          .scale_columns_multiple = kScaleColumnsMultiple};
}

Result<void> AddMegatronLayer(const FamilyTensors& model, const MegatronDegrees& degrees,
                              const MegatronCoordinates& at, const FamilyLayer& layer,
                              RankLayoutBuilder& builder) {
  return MegatronLayerBuilder(model, degrees, at, layer, builder).Add();
}

}  // namespace reshard
