#include "compiler/layout/vllm_layout.h"

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/layout/family_recomputed.h"
#include "compiler/layout/family_tensors.h"
#include "compiler/layout/shared_rank_layouts.h"
#include "compiler/layout/vllm_degrees.h"
#include "compiler/layout/vllm_layer.h"
#include "compiler/layout/vocabulary_rows.h"
#include "foundation/checked_arithmetic.h"
#include "foundation/nearest_name.h"

namespace reshard {
namespace {

// Rows padded to a multiple of 64, the padding at the end, then cut over the tensor ranks
// (model_executor/layers/vocab_parallel_embedding.py).
Result<void> AddVocabularyRows(const FamilyTensors& model, const VllmDegrees& degrees,
                               std::int64_t tensor_rank, const RoleTensors& table,
                               RankLayoutBuilder& builder) {
  constexpr std::int64_t kMultiple = 64;
  const std::string& name = model.tensor(table[Kind::kWeight]).name;
  const std::int64_t stored = CeilDivide(RowCount(model, table), kMultiple) * kMultiple;
  const Result<LinearCut> cut = VocabularyRows(model, table, stored, degrees.tensor, tensor_rank,
                                               name + ": rows, padded to a multiple of 64");
  if (!cut) return tl::unexpected(cut.error());
  const std::string parameter = model.NameIn("vllm", table[Kind::kWeight]);
  return LinearBuilder(model, builder).Add(VllmNames(parameter), *cut);
}

struct Build {
  const FamilyTensors& model;
  const VllmDegrees& degrees;
  const std::vector<std::int64_t>& first_layers;
  std::int64_t expert_groups;
  const JsonCursor& fields;
};

// A tied LM head is the embedding itself, and the last stage keeps a copy of it (models/llama.py).
Result<void> AddEnds(const Build& build, const VllmCoordinates& at, RankLayoutBuilder& builder) {
  const FamilyTensors& model = build.model;
  const bool last = at.pipeline == build.degrees.pipeline - 1;
  const RoleTensors& embedding = model[Role::kEmbedding];
  if (embedding.held() && (at.pipeline == 0 || (last && model.tied()))) {
    const Result<void> added =
        AddVocabularyRows(model, build.degrees, at.tensor, embedding, builder);
    if (!added) return added;
  }
  if (!last) return {};
  if (const RoleTensors& norm = model[Role::kFinalNorm]; norm.held()) {
    const Result<void> added = LinearBuilder(model, builder)
                                   .Add(VllmNames(model.NameIn("vllm", norm[Kind::kWeight])),
                                        {.rows = {AllRows(model, norm)}});
    if (!added) return added;
  }
  const RoleTensors& head = model[Role::kLmHead];
  if (!head.held() || model.tied()) return {};
  return AddVocabularyRows(model, build.degrees, at.tensor, head, builder);
}

Result<RankLayout> BuildRank(const Build& build, const VllmCoordinates& at) {
  RankLayoutBuilder builder(build.model.model());
  if (const Result<void> ends = AddEnds(build, at, builder); !ends) {
    return tl::unexpected(ends.error());
  }
  std::vector<std::int64_t> experts;
  if (build.model.has_experts()) {
    Result<std::vector<std::int64_t>> slots = ExpertsOfVllmRank(
        build.degrees, at.expert, build.model.expert_count(), build.expert_groups, build.fields);
    if (!slots) return tl::unexpected(slots.error());
    experts = *std::move(slots);
  }
  const std::int64_t begin = build.first_layers[static_cast<std::size_t>(at.pipeline)];
  const std::int64_t end = build.first_layers[static_cast<std::size_t>(at.pipeline) + 1];
  for (const auto& [index, layer] : build.model.layers()) {
    if (layer.mtp || index < begin || index >= end) continue;
    const Result<void> added =
        AddVllmLayer(build.model, build.degrees, at, experts, layer, builder);
    if (!added) return tl::unexpected(added.error());
  }
  return std::move(builder).Build();
}

// The first tensor of the roles, in order of layer and expert.
std::optional<TensorIndex> FirstOf(const FamilyTensors& model, std::span<const Role> roles) {
  for (const auto& [index, layer] : model.layers()) {
    for (const Role role : roles) {
      const RoleTensors* tensors = &layer[role];
      if (IsExpertRole(role)) {
        if (layer.experts.empty()) continue;
        tensors = &layer.experts.begin()->second[role];
      }
      if (tensors->held()) return (*tensors)[Kind::kWeight];
    }
  }
  return std::nullopt;
}

// What the backend of the experts makes of them after loading, as the family says.
Result<void> TakeBackend(const FamilyTensors& model, const JsonCursor& fields,
                         VllmDegrees& degrees) {
  if (degrees.moe_backend == "triton") return {};
  std::vector<std::string_view> known{"triton"};
  for (const RepackedTensors& repacked : model.family().repacked) {
    if (repacked.framework != "vllm") continue;
    known.emplace_back(repacked.backend);
    if (repacked.backend != degrees.moe_backend) continue;
    if (repacked.into == kIntoUpGate) {
      degrees.up_first = true;
      return {};
    }
    const std::optional<TensorIndex> first = FirstOf(model, repacked.roles);
    if (!first) return {};
    return fields.Field("moeBackend")
        ->Fail(model.tensor(*first).name + ": backend " + degrees.moe_backend + " keeps it as " +
                   repacked.into,
               "run the engine with moe_backend triton");
  }
  return fields.Field("moeBackend")
      ->Fail("family " + model.family().name + " knows no backend '" + degrees.moe_backend + "'",
             SuggestName(degrees.moe_backend, known));
}

}  // namespace

Result<GroupLayout> BuildVllmLayout(const Model& model, const JsonCursor& fields,
                                    std::int64_t rank_count) {
  Result<VllmDegrees> degrees = ReadVllmDegrees(fields, rank_count);
  if (!degrees) return tl::unexpected(degrees.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  if (!tensors) return tl::unexpected(tensors.error());
  if (const Result<void> taken = TakeBackend(*tensors, fields, *degrees); !taken) {
    return tl::unexpected(taken.error());
  }
  const Result<std::vector<std::int64_t>> first_layers =
      PlaceVllmLayers(fields, degrees->pipeline, tensors->layer_count());
  if (!first_layers) return tl::unexpected(first_layers.error());
  // Only round robin asks: a tensor list need not tell how routing is grouped.
  std::int64_t expert_groups = 1;
  if (degrees->round_robin) {
    const Result<std::int64_t> groups = tensors->FieldOr("n_group", 1);
    if (!groups) return tl::unexpected(groups.error());
    expert_groups = *groups;
  }

  const Build build{*tensors, *degrees, *first_layers, expert_groups, fields};
  Result<GroupLayout> group = ShareRankLayouts(
      rank_count,
      [&](std::int64_t rank) { return PlaceVllmRank(*degrees, rank, tensors->has_experts()); },
      [&](const VllmCoordinates& at) { return At(fields.Place(), BuildRank(build, at)); });
  if (!group) return group;
  group->recompute = RecomputedBuffers(*tensors, "vllm");
  group->held_otherwise = HeldOtherwise(*tensors, "vllm");
  return group;
}

}  // namespace reshard
