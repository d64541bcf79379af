#include "compiler/layout/sglang_layout.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "compiler/layout/family_expert_stack.h"
#include "compiler/layout/family_recomputed.h"
#include "compiler/layout/family_tensors.h"
#include "compiler/layout/sglang_degrees.h"
#include "compiler/layout/shared_rank_layouts.h"
#include "compiler/layout/vllm_layer.h"
#include "compiler/layout/vocabulary_rows.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

struct Build {
  const FamilyTensors& model;
  const SglangDegrees& degrees;
  const std::vector<std::int64_t>& first_layers;
  const JsonCursor& fields;
};

// Rows padded to a multiple of 64, or of 64 for each rank where the ranks do not divide that; then
// cut over them (srt/layers/vocab_parallel_embedding.py).
Result<void> AddVocabulary(const FamilyTensors& model, const EngineShare& over,
                           const RoleTensors& table, const std::string& parameter,
                           RankLayoutBuilder& builder) {
  constexpr std::int64_t kMultiple = 64;
  const std::string& name = model.tensor(table[Kind::kWeight]).name;
  const std::int64_t vocabulary = RowCount(model, table);
  std::int64_t stored = CeilDivide(vocabulary, kMultiple) * kMultiple;
  if (stored % over.count != 0) {
    const std::int64_t multiple = kMultiple * over.count;
    stored = CeilDivide(vocabulary, multiple) * multiple;
  }
  const Result<LinearCut> cut =
      VocabularyRows(model, table, stored, over.count, over.index, name + ": padded rows");
  if (!cut) return tl::unexpected(cut.error());
  return LinearBuilder(model, builder).Add(VllmNames(parameter), *cut);
}

// A tied LM head is the embedding itself where both are on one stage, else a copy of it under its
// own name, cut as the embedding is (models/qwen2.py).
Result<void> AddEnds(const Build& build, const SglangCoordinates& at, RankLayoutBuilder& builder) {
  const FamilyTensors& model = build.model;
  const SglangDegrees& degrees = build.degrees;
  const EngineShare attention{degrees.attention_tensor, at.attention_tensor};
  const EngineShare tensor{degrees.tensor, at.tensor};
  const bool last = at.pipeline == degrees.pipeline - 1;
  const RoleTensors& embedding = model[Role::kEmbedding];
  if (embedding.held() && at.pipeline == 0) {
    const Result<void> added =
        AddVocabulary(model, degrees.replicated_embedding ? EngineShare{} : attention, embedding,
                      model.NameIn("sglang", embedding[Kind::kWeight]), builder);
    if (!added) return added;
  }
  if (!last) return {};
  if (const RoleTensors& norm = model[Role::kFinalNorm]; norm.held()) {
    const Result<void> added = LinearBuilder(model, builder)
                                   .Add(VllmNames(model.NameIn("sglang", norm[Kind::kWeight])),
                                        {.rows = {AllRows(model, norm)}});
    if (!added) return added;
  }
  const RoleTensors& head = model.tied() ? embedding : model[Role::kLmHead];
  if (!head.held() || (model.tied() && at.pipeline == 0)) return {};
  return AddVocabulary(model, degrees.lm_head_over_attention ? attention : tensor, head,
                       model.tied() ? model.NameIn("sglang", std::string("lm_head.weight"))
                                    : model.NameIn("sglang", head[Kind::kWeight]),
                       builder);
}

bool HasSharedExperts(const FamilyTensors& model) {
  return std::ranges::any_of(model.layers(), [](const auto& entry) {
    return entry.second[Role::kSharedExpertGate].held() ||
           entry.second[Role::kSharedExpertUp].held();
  });
}

bool RoutesSharedExperts(const FamilyTensors& model) {
  return std::ranges::any_of(model.layers(), [](const auto& entry) {
    return entry.second[Role::kSharedExpertRouter].held();
  });
}

// A shared expert becomes one more slot of stacks that are built expert by expert; how SGLang would
// append it to a stack of the checkpoint's is not known.
Result<void> CheckExpertsAreListed(const Build& build) {
  for (const auto& [index, layer] : build.model.layers()) {
    if (layer.mtp) continue;
    const auto stack = At(build.fields.Place(), ExpertStackOf(build.model, layer));
    if (!stack) return tl::unexpected(stack.error());
    if (!*stack) continue;
    return build.fields.Field("sharedExperts")
        ->Fail("the adapter appends a shared expert only to experts listed one by one, and layer " +
                   std::to_string(index) + " holds them as one stack",
               "say \"tensor\" or \"replicated\"");
  }
  return {};
}

// What the fields must say for this model.
Result<void> CheckFields(const Build& build) {
  const SglangDegrees& degrees = build.degrees;
  if (!build.model.has_experts() && degrees.dense_tensor != degrees.tensor) {
    return build.fields.Field("denseTensor")
        ->Fail("SGLang reads moe_dense_tp_size for models with experts only", "leave it out");
  }
  const bool shared = HasSharedExperts(build.model);
  const bool routed = RoutesSharedExperts(build.model);
  if (degrees.shared_experts == SglangSharedExperts::kAppended) {
    if (!shared || routed) {
      return build.fields.Field("sharedExperts")
          ->Fail(!shared ? "the model has no shared experts"
                         : "a shared expert with a gate of its own is no slot of the stacks",
                 "say \"tensor\" or \"replicated\"");
    }
    if (degrees.expert > 1) {
      return build.fields.Field("sharedExperts")
          ->Fail("SGLang appends the shared expert only without expert parallelism",
                 "say \"tensor\" or \"replicated\"");
    }
    if (const Result<void> listed = CheckExpertsAreListed(build); !listed) return listed;
  }
  // On CUDA DeepSeek's shared expert becomes slot E of the stacks; on other machines, with some
  // flags and for some models it does not (models/deepseek_v2.py).
  if (degrees.shared_experts == SglangSharedExperts::kUnstated && shared && !routed &&
      degrees.expert == 1) {
    return build.fields.Fail(
        "the model has shared experts, and without expert parallelism SGLang may keep them as one "
        "more slot of the expert stacks",
        "give sharedExperts: \"appended\" (num_fused_shared_experts of the running engine is 1), "
        "\"tensor\" or \"replicated\"");
  }
  return {};
}

EngineRank RankOf(const SglangDegrees& degrees, const SglangCoordinates& at,
                  std::span<const std::int64_t> experts) {
  const EngineShare tensor{degrees.tensor, at.tensor};
  EngineRank rank;
  rank.attention = {degrees.attention_tensor, at.attention_tensor};
  rank.mlp = degrees.dense_tensor == 1 ? EngineShare{} : tensor;
  rank.shared_expert =
      degrees.shared_experts == SglangSharedExperts::kReplicated ? EngineShare{} : tensor;
  rank.expert = {degrees.expert_tensor, at.expert_tensor};
  rank.experts = experts;
  rank.framework = "sglang";
  rank.latent_down = "fused_qkv_a_proj_with_mqa.weight";
  rank.expert_stack = "";
  rank.up_first = degrees.up_first;
  rank.shared_in_stack = degrees.shared_experts == SglangSharedExperts::kAppended;
  rank.refines_scales = false;
  return rank;
}

Result<RankLayout> BuildRank(const Build& build, const SglangCoordinates& at) {
  RankLayoutBuilder builder(build.model.model());
  if (const Result<void> ends = AddEnds(build, at, builder); !ends) {
    return tl::unexpected(ends.error());
  }
  std::vector<std::int64_t> experts;
  if (build.model.has_experts()) {
    const Result<Share> share = EqualShare(build.model.expert_count(), build.degrees.expert,
                                           at.expert, "the experts of a layer");
    if (!share) return tl::unexpected(share.error());
    for (std::int64_t e = share->begin; e < share->end; ++e) experts.push_back(e);
  }
  const EngineRank rank = RankOf(build.degrees, at, experts);
  const std::int64_t begin = build.first_layers[static_cast<std::size_t>(at.pipeline)];
  const std::int64_t end = build.first_layers[static_cast<std::size_t>(at.pipeline) + 1];
  for (const auto& [index, layer] : build.model.layers()) {
    if (layer.mtp || index < begin || index >= end) continue;
    const Result<void> added = AddEngineLayer(build.model, rank, layer, builder);
    if (!added) return tl::unexpected(added.error());
  }
  return std::move(builder).Build();
}

}  // namespace

Result<GroupLayout> BuildSglangLayout(const Model& model, const JsonCursor& fields,
                                      std::int64_t rank_count) {
  const Result<SglangDegrees> degrees = ReadSglangDegrees(fields, rank_count);
  if (!degrees) return tl::unexpected(degrees.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  if (!tensors) return tl::unexpected(tensors.error());
  const Result<std::vector<std::int64_t>> first_layers =
      PlaceSglangLayers(fields, degrees->pipeline, tensors->layer_count());
  if (!first_layers) return tl::unexpected(first_layers.error());
  const Build build{*tensors, *degrees, *first_layers, fields};
  if (const Result<void> checked = CheckFields(build); !checked) {
    return tl::unexpected(checked.error());
  }

  Result<GroupLayout> group = ShareRankLayouts(
      rank_count, [&](std::int64_t rank) { return PlaceSglangRank(*degrees, rank); },
      [&](const SglangCoordinates& at) { return At(fields.Place(), BuildRank(build, at)); });
  if (!group) return group;
  group->recompute = RecomputedBuffers(*tensors, "sglang");
  group->held_otherwise = HeldOtherwise(*tensors, "sglang");
  return group;
}

}  // namespace reshard
