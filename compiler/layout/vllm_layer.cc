#include "compiler/layout/vllm_layer.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "compiler/layout/block.h"
#include "compiler/layout/family_attention.h"
#include "compiler/layout/family_expert_stack.h"
#include "compiler/layout/family_recomputed.h"
#include "compiler/layout/family_segments.h"

namespace reshard {
namespace {

// What stands before the last `pieces` pieces of a name, with its dot: "model.layers.3.self_attn.".
std::string Before(const std::string& name, int pieces) {
  std::size_t end = name.size();
  for (int piece = 0; piece < pieces && end > 0; ++piece) {
    const std::size_t dot = name.rfind('.', end - 1);
    end = dot == std::string::npos ? 0 : dot;
  }
  return end == 0 ? std::string() : name.substr(0, end + 1);
}

class LayerBuilder {
 public:
  LayerBuilder(const FamilyTensors& model, const EngineRank& rank, const FamilyLayer& layer,
               RankLayoutBuilder& builder)
      : model_(model), rank_(rank), layer_(layer), builder_(builder), linear_(model, builder) {}

  Result<void> Add() {
    for (const Role role :
         {Role::kBlockInputNorm, Role::kAttentionInputNorm, Role::kAttentionOutputNorm,
          Role::kMlpInputNorm, Role::kMlpOutputNorm, Role::kAttentionQueryNorm,
          Role::kAttentionKeyNorm, Role::kMlaQueryNorm, Role::kMlaKeyValueNorm, Role::kDeltaNorm,
          Role::kRouter, Role::kRouterExpertBias, Role::kLatentDown, Role::kLatentUp,
          Role::kSharedExpertRouter}) {
      if (const Result<void> added = AddWhole(role); !added) return added;
    }
    if (const Result<void> added = AddGroupedQuery(); !added) return added;
    if (const Result<void> added = AddLatent(); !added) return added;
    if (const Result<void> added = AddMamba(); !added) return added;
    if (const Result<void> added = AddDelta(); !added) return added;
    const auto mlp = AddGateUp({Role::kMlpGate, Role::kMlpUp}, rank_.mlp);
    if (!mlp) return mlp;
    if (const auto added = AddRowParallel(Role::kMlpDown, rank_.mlp); !added) return added;
    if (const Result<void> added = AddSharedExpert(); !added) return added;
    if (const Result<void> added = AddExpertStack(); !added) return added;
    return AddExperts();
  }

 private:
  using Over = EngineShare;

  const std::string& NameOf(const RoleTensors& tensors) const {
    return model_.tensor(tensors[Kind::kWeight]).name;
  }

  // The framework's name of what bears a tensor's own name.
  std::string ParameterOf(const RoleTensors& tensors) const {
    return model_.NameIn(rank_.framework, tensors[Kind::kWeight]);
  }

  Result<void> AddWhole(Role role) {
    const RoleTensors& tensors = layer_[role];
    if (!tensors.held()) return {};
    return linear_.Add(VllmNames(ParameterOf(tensors)), {.rows = {AllRows(model_, tensors)}});
  }

  Result<LinearCut> Columns(std::span<const RoleTensors> parts, const Over& over) const {
    LinearCut cut;
    for (const RoleTensors& part : parts) {
      const Result<Share> share =
          EqualShare(RowCount(model_, part), over.count, over.index, NameOf(part) + ": rows");
      if (!share) return tl::unexpected(share.error());
      cut.rows.push_back({part, share->begin, share->end});
    }
    return cut;
  }

  Result<LinearCut> Rows(const RoleTensors& tensors, const Over& over) const {
    const Result<Share> share = EqualShare(ColumnCount(model_, tensors), over.count, over.index,
                                           NameOf(tensors) + ": columns");
    if (!share) return tl::unexpected(share.error());
    LinearCut cut{.rows = {AllRows(model_, tensors)}};
    cut.column_begin = share->begin;
    cut.column_end = share->end;
    return cut;
  }

  // Column parallel: of each part its share of the rows, joined as `fused` beside the first part
  // (which keeps its own name where it stands alone).
  Result<void> AddColumnParallel(std::span<const RoleTensors> parts, const std::string& fused,
                                 const Over& over) {
    if (parts.empty()) return {};
    const Result<LinearCut> cut = Columns(parts, over);
    if (!cut) return tl::unexpected(cut.error());
    const std::string first = ParameterOf(parts.front());
    constexpr int kModuleAndParameter = 2;
    return linear_.Add(
        VllmNames(parts.size() == 1 ? first : Before(first, kModuleAndParameter) + fused), *cut);
  }

  Result<void> AddRowParallel(Role role, const Over& over) {
    if (!layer_[role].held()) return {};
    const Result<LinearCut> cut = Rows(layer_[role], over);
    if (!cut) return tl::unexpected(cut.error());
    return linear_.Add(VllmNames(ParameterOf(layer_[role])), *cut);
  }

  Result<void> AddGateUp(const std::array<Role, 2>& roles, const Over& over) {
    const Result<std::vector<RoleTensors>> parts =
        Together(model_, layer_, roles, "gate_up_proj.weight");
    if (!parts) return tl::unexpected(parts.error());
    return AddColumnParallel(*parts, "gate_up_proj.weight", over);
  }

  Result<void> AddSharedExpert() {
    if (rank_.shared_in_stack) return {};
    const auto added =
        AddGateUp({Role::kSharedExpertGate, Role::kSharedExpertUp}, rank_.shared_expert);
    if (!added) return added;
    return AddRowParallel(Role::kSharedExpertDown, rank_.shared_expert);
  }

  Result<void> AddGroupedQuery() {
    const Result<Attention> attention = AttentionOf(model_, layer_, "qkv_proj.weight");
    if (!attention) return tl::unexpected(attention.error());
    const std::vector<RoleTensors>& parts = attention->query_key_value;
    if (!parts.empty()) {
      constexpr int kModuleAndParameter = 2;
      const std::string name =
          Before(ParameterOf(parts.front()), kModuleAndParameter) + "qkv_proj.weight";
      Result<std::vector<RowRange>> rows =
          RowsByRank(attention->heads, parts, rank_.attention.count, rank_.attention.index, name);
      if (!rows) return tl::unexpected(rows.error());
      if (attention->rotary_pairs) {
        std::vector<RowRange> halves;
        for (const std::size_t part : {0U, 1U}) {
          const std::vector<RowRange> turned = RotaryHalves((*rows)[part], attention->heads.dim);
          halves.insert(halves.end(), turned.begin(), turned.end());
        }
        halves.push_back(rows->back());
        rows = std::move(halves);
      }
      const Result<void> added = linear_.Add(VllmNames(name), {.rows = *std::move(rows)});
      if (!added) return added;
    }
    if (const auto sinks = AddCut(Role::kAttentionSinks, rank_.attention); !sinks) return sinks;
    return AddRowParallel(Role::kAttentionOutput, rank_.attention);
  }

  // A tensor of its own name, each rank an equal share of its rows.
  Result<void> AddCut(Role role, const Over& over) {
    if (!layer_[role].held()) return {};
    return AddColumnParallel(std::span(&layer_[role], 1), "", over);
  }

  // Each segment is cut alone; one group is held whole by every rank
  // (layers/mamba/mamba_mixer2.py).
  Result<void> AddMamba() {
    const RoleTensors& input = layer_[Role::kMambaInput];
    const RoleTensors& convolution = layer_[Role::kMambaConvolution];
    if (input.held() || convolution.held()) {
      Result<MambaSizes> sizes = MambaSizesOf(model_);
      if (!sizes) return tl::unexpected(sizes.error());
      sizes->replicates_one_group = true;
      const SegmentShare share{rank_.attention.count, rank_.attention.index};
      if (input.held()) {
        const Result<void> added =
            AddRows(ParameterOf(input), MambaInputRows(model_, *sizes, input, share));
        if (!added) return added;
      }
      if (convolution.held()) {
        const Result<void> added = AddRows(
            ParameterOf(convolution), MambaConvolutionRows(model_, *sizes, convolution, share));
        if (!added) return added;
      }
    }
    for (const Role role :
         {Role::kMambaALog, Role::kMambaD, Role::kMambaTimeBias, Role::kMambaNorm}) {
      if (FunctionOf(model_, rank_.framework, role) != StoredFunction::kIdentity) continue;
      if (const Result<void> added = AddCut(role, rank_.attention); !added) return added;
    }
    return AddRowParallel(Role::kMambaOutput, rank_.attention);
  }

  Result<void> AddRows(const std::string& parameter, Result<std::vector<RowRange>> rows) {
    if (!rows) return tl::unexpected(rows.error());
    return linear_.Add(VllmNames(parameter), {.rows = *std::move(rows)});
  }

  // Joined projections keep the checkpoint's order, key head by key head, and are cut between key
  // heads; those apart are joined, each cut alone (layers/mamba/gdn/qwen_gdn_linear_attn.py).
  Result<void> AddDelta() {
    const RoleTensors& apart = layer_[Role::kDeltaQkv];
    const RoleTensors& convolution = layer_[Role::kDeltaConvolution];
    if (HoldsDeltaInput(layer_) || convolution.held()) {
      const Result<DeltaSizes> sizes = DeltaSizesOf(model_);
      if (!sizes) return tl::unexpected(sizes.error());
      const SegmentShare share{rank_.attention.count, rank_.attention.index};
      const auto rows = DeltaInputRows(model_, *sizes, layer_, share);
      if (!rows) return tl::unexpected(rows.error());
      if (apart.held()) {
        constexpr int kModuleAndParameter = 2;
        const std::string module = Before(ParameterOf(apart), kModuleAndParameter);
        const auto scalars = rows->end() - 2;  // q | k | v | z, then b | a
        for (const auto& [name, part] :
             {std::pair{"in_proj_qkvz.weight", std::vector<RowRange>(rows->begin(), scalars)},
              std::pair{"in_proj_ba.weight", std::vector<RowRange>(scalars, rows->end())}}) {
          if (const Result<void> added = AddRows(module + name, part); !added) return added;
        }
      }
      if (convolution.held()) {
        const Result<void> added = AddRows(
            ParameterOf(convolution), DeltaConvolutionRows(model_, *sizes, convolution, share));
        if (!added) return added;
      }
    }
    for (const Role role :
         {Role::kDeltaQkvz, Role::kDeltaBa, Role::kDeltaALog, Role::kDeltaTimeBias}) {
      if (const Result<void> added = AddCut(role, rank_.attention); !added) return added;
    }
    return AddRowParallel(Role::kDeltaOutput, rank_.attention);
  }

  // Multi-head latent attention: both down projections joined and whole on every rank
  // (models/deepseek_v2.py); where the query has none, that of key and value stands alone.
  Result<void> AddLatent() {
    static constexpr std::array kDown{Role::kMlaQueryDown, Role::kMlaKeyValueDown};
    std::vector<RoleTensors> down;
    for (const Role role : kDown) {
      if (layer_[role].held()) down.push_back(layer_[role]);
    }
    if (layer_[Role::kMlaQueryDown].held() && down.size() == 1) {
      return InputError("model", NameOf(down.front()) + " is listed without its kv_a_proj: " +
                                     std::string(rank_.latent_down) +
                                     " would hold some parts only");
    }
    const Result<void> joined = AddColumnParallel(down, std::string(rank_.latent_down), Over{});
    if (!joined) return joined;
    for (const Role role : {Role::kMlaQuery, Role::kMlaQueryUp, Role::kMlaKeyValueUp}) {
      const RoleTensors& up = layer_[role];
      if (!up.held()) continue;
      if (const Result<void> checked = CheckWholeHeads(NameOf(up)); !checked) return checked;
      const Result<void> added = AddColumnParallel(std::span(&up, 1), "", rank_.attention);
      if (!added) return added;
    }
    return AddRowParallel(Role::kMlaOutput, rank_.attention);
  }

  Result<void> CheckWholeHeads(const std::string& name) const {
    if (rank_.attention.count == 1) return {};
    const Result<std::int64_t> heads = model_.Field("num_attention_heads");
    if (!heads) return tl::unexpected(heads.error());
    const Result<Share> share =
        EqualShare(*heads, rank_.attention.count, 0, name + ": query heads");
    if (!share) return tl::unexpected(share.error());
    return {};
  }

  // vLLM's FP8 experts take a shard that is no multiple of a block to finer blocks, or refuse it
  // (layers/fused_moe/oracle/fp8.py).
  Result<void> CheckExpertBlocks(const RoleTensors& tensors, std::int64_t size, std::int64_t block,
                                 const Over& over) const {
    const std::int64_t shard = size / over.count;
    if (!rank_.refines_scales || tensors[Kind::kScale] == kNoTensor || over.count == 1 ||
        shard % block == 0) {
      return {};
    }
    constexpr std::int64_t kFinestBlock = 32;
    const std::int64_t finer = std::gcd(shard, block);
    const std::string text = NameOf(tensors) + ": a shard of " + std::to_string(shard) +
                             " cuts its FP8 blocks of " + std::to_string(block);
    if (finer < kFinestBlock) return InputError("", text + ", which vLLM cannot load");
    return InputError("",
                      text + "; vLLM would refine its scales to blocks of " +
                          std::to_string(finer) + ", which is not supported",
                      "use fewer ranks for an expert, or expertParallel");
  }

  // Experts that the checkpoint has in one tensor: gate rows then up rows, interleaved where the
  // checkpoint has them so (models/gpt_oss.py), whichever way it lies.
  Result<void> AddExpertStack() {
    const Result<std::optional<ExpertStack>> found = ExpertStackOf(model_, layer_);
    if (!found) return tl::unexpected(found.error());
    if (!*found || rank_.experts.empty()) return {};
    const ExpertStack& stack = **found;
    const Result<Share> width = EqualShare(stack.width, rank_.expert.count, rank_.expert.index,
                                           NameOf(stack.gate_up) + ": width of an expert");
    if (!width) return tl::unexpected(width.error());
    const std::string module = Before(ParameterOf(stack.down), 1) + std::string(rank_.expert_stack);
    if (stack.interleaved && (rank_.up_first || rank_.framework != "vllm")) {
      return InputError("",
                        NameOf(stack.gate_up) + ": in which order " + std::string(rank_.framework) +
                            " keeps gate and up of these experts is not known here",
                        "write the layout of these tensors as an explicit one, or ignore them");
    }
    for (const auto& [kind, suffix] :
         {std::pair{Kind::kWeight, "_weight"}, std::pair{Kind::kBias, "_bias"}}) {
      std::vector<Block> gate_up;
      std::vector<Block> down;
      for (const std::int64_t expert : rank_.experts) {
        if (stack.gate_up[kind] != kNoTensor) {
          Block block = ExpertGateUpBlock(model_, stack, kind, expert, *width, stack.interleaved);
          if (rank_.up_first) {
            const std::int64_t half = width->end - width->begin;
            block = Block::Concat(
                0, std::array{block.Slice(0, half, 2 * half), block.Slice(0, 0, half)});
          }
          gate_up.push_back(std::move(block));
        }
        if (stack.down[kind] != kNoTensor) {
          down.push_back(ExpertDownBlock(model_, stack, kind, expert, *width));
        }
      }
      if (const auto added = AddStacked(module + "w13" + suffix, stack.gate_up[kind], gate_up);
          !added) {
        return added;
      }
      if (kind == Kind::kBias && !down.empty() && rank_.expert.index > 0) {
        // Added once: the others of the ranks that share an expert hold zeros.
        for (Block& bias : down) bias = Block::Zeros(bias.shape());
      }
      if (const auto added = AddStacked(module + "w2" + suffix, stack.down[kind], down); !added) {
        return added;
      }
    }
    return {};
  }

  Result<void> AddStacked(const std::string& parameter, TensorIndex tensor,
                          std::span<const Block> experts) {
    if (experts.empty()) return {};
    return builder_.AddParameter(parameter, model_.tensor(tensor).dtype, Block::Stack(experts));
  }

  // The stacks being built: one cut for each slot.
  struct ExpertStacks {
    std::vector<LinearCut> gate_up;
    std::vector<LinearCut> down;
  };

  // `rows` are gate (where the family has one) and up.
  Result<void> AddSlot(std::span<const RoleTensors> rows, const RoleTensors& down,
                       ExpertStacks& stacks) const {
    const Over& over = rank_.expert;
    for (const RoleTensors& part : rows) {
      const Result<void> checked =
          CheckExpertBlocks(part, RowCount(model_, part), model_.scale_block().rows, over);
      if (!checked) return checked;
    }
    const Result<void> checked =
        CheckExpertBlocks(down, ColumnCount(model_, down), model_.scale_block().columns, over);
    if (!checked) return checked;
    Result<LinearCut> gate_up = Columns(rows, over);
    if (!gate_up) return tl::unexpected(gate_up.error());
    if (rank_.up_first) std::reverse(gate_up->rows.begin(), gate_up->rows.end());
    stacks.gate_up.push_back(*std::move(gate_up));
    Result<LinearCut> down_cut = Rows(down, over);
    if (!down_cut) return tl::unexpected(down_cut.error());
    stacks.down.push_back(*std::move(down_cut));
    return {};
  }

  // The shared expert as one more slot behind the others.
  Result<void> AddSharedSlot(ExpertStacks& stacks) const {
    static constexpr std::array kAll{Role::kSharedExpertGate, Role::kSharedExpertUp,
                                     Role::kSharedExpertDown};
    const Result<std::vector<RoleTensors>> parts =
        Together(model_, layer_, kAll, "the stacks of experts");
    if (!parts) return tl::unexpected(parts.error());
    if (parts->empty()) return {};
    return AddSlot(std::span(parts->data(), parts->size() - 1), parts->back(), stacks);
  }

  // Stacks of the rank's experts: gate rows then up rows, and down.
  Result<void> AddExperts() {
    if (layer_.experts.empty() || rank_.experts.empty()) return {};
    ExpertStacks stacks;
    stacks.gate_up.reserve(rank_.experts.size() + 1);
    stacks.down.reserve(rank_.experts.size() + 1);
    for (const std::int64_t expert : rank_.experts) {
      static constexpr std::array kAll{Role::kExpertGate, Role::kExpertUp, Role::kExpertDown};
      const Result<std::vector<RoleTensors>> parts =
          Together(model_, layer_, expert, kAll, "the stacks of experts");
      if (!parts) return tl::unexpected(parts.error());
      if (parts->empty()) {
        return InputError("model",
                          "layer " + std::to_string(layer_.index) + " lacks expert " +
                              std::to_string(expert) + " of " +
                              std::to_string(model_.expert_count()) +
                              ": w13_weight and w2_weight would hold some parts only",
                          "list all experts of the layer or none");
      }
      const Result<void> added =
          AddSlot(std::span(parts->data(), parts->size() - 1), parts->back(), stacks);
      if (!added) return added;
    }
    // "model.layers.3.mlp.experts.17.down_proj.weight" without its last three pieces.
    constexpr int kExpertModuleAndParameter = 3;
    const std::string stack =
        Before(ParameterOf(stacks.down.front().rows.front().tensors), kExpertModuleAndParameter) +
        std::string(rank_.expert_stack);
    if (rank_.shared_in_stack) {
      if (const Result<void> added = AddSharedSlot(stacks); !added) return added;
    }
    const auto names = [&](const std::string& number) -> LinearNames {
      return {.weight = stack + number + "_weight",
              .bias = stack + number + "_bias",
              .scale = stack + number + "_weight_scale_inv"};
    };
    if (const auto added = linear_.AddStack(names("w13"), stacks.gate_up); !added) return added;
    return linear_.AddStack(names("w2"), stacks.down);
  }

  const FamilyTensors& model_;
  const EngineRank& rank_;
  const FamilyLayer& layer_;
  RankLayoutBuilder& builder_;
  LinearBuilder linear_;
};

}  // namespace

LinearNames VllmNames(const std::string& name) {
  constexpr std::string_view kWeight = ".weight";
  if (!name.ends_with(kWeight)) return {.weight = name};
  const std::string module = name.substr(0, name.size() - kWeight.size());
  return {.weight = name, .bias = module + ".bias", .scale = name + "_scale_inv"};
}

Result<void> AddEngineLayer(const FamilyTensors& model, const EngineRank& rank,
                            const FamilyLayer& layer, RankLayoutBuilder& builder) {
  return LayerBuilder(model, rank, layer, builder).Add();
}

Result<void> AddVllmLayer(const FamilyTensors& model, const VllmDegrees& degrees,
                          const VllmCoordinates& at, std::span<const std::int64_t> experts,
                          const FamilyLayer& layer, RankLayoutBuilder& builder) {
  const EngineShare tensor{degrees.tensor, at.tensor};
  // Sequence-parallel experts keep the shared expert whole (config/parallel.py
  // use_sequence_parallel_moe).
  const bool sequence_parallel = degrees.expert_parallel && degrees.tensor > 1 && degrees.data > 1;
  EngineRank rank;
  rank.attention = tensor;
  rank.mlp = tensor;
  rank.shared_expert = sequence_parallel ? EngineShare{} : tensor;
  rank.expert =
      degrees.expert_parallel ? EngineShare{} : EngineShare{degrees.expert_ranks(), at.expert};
  rank.experts = experts;
  rank.up_first = degrees.up_first;
  return AddEngineLayer(model, rank, layer, builder);
}

}  // namespace reshard
