#include "compiler/layout/megatron_layout.h"

#include <utility>

#include "compiler/layout/family_recomputed.h"
#include "compiler/layout/family_tensors.h"
#include "compiler/layout/megatron_degrees.h"
#include "compiler/layout/megatron_layer.h"
#include "compiler/layout/megatron_stages.h"
#include "compiler/layout/shared_rank_layouts.h"
#include "compiler/layout/vocabulary_rows.h"

namespace reshard {
namespace {

// Rows of embedding and LM head over the tensor ranks. Rows behind the vocabulary are padding, at
// the end, so that the last ranks hold fewer real ones.
Result<void> AddVocabularyRows(const FamilyTensors& model, const MegatronDegrees& degrees,
                               std::int64_t tensor_rank, const RoleTensors& table,
                               const std::string& name, RankLayoutBuilder& builder) {
  const std::int64_t vocabulary = RowCount(model, table);
  const std::int64_t stored = degrees.padded_vocabulary.value_or(vocabulary);
  const std::string& tensor = model.tensor(table[Kind::kWeight]).name;
  if (stored < vocabulary) {
    return InputError("paddedVocabulary", std::to_string(stored) + " is below the " +
                                              std::to_string(vocabulary) + " rows of " + tensor);
  }
  Result<LinearCut> cut =
      VocabularyRows(model, table, stored, degrees.tensor, tensor_rank, tensor + ": rows");
  if (!cut) {
    cut.error().remedy = "give paddedVocabulary if the trainer pads them";
    return tl::unexpected(cut.error());
  }
  return LinearBuilder(model, builder).Add(MegatronNames(name), *cut);
}

// Embedding on the first stage; final norm and output layer on the last. A tied output layer is a
// copy of the embedding wherever the embedding itself is not
// (megatron/core/models/gpt/gpt_model.py); the stage of multi-token prediction keeps a copy of the
// embedding too.
Result<void> AddEnds(const FamilyTensors& model, const MegatronDegrees& degrees,
                     const MegatronStages& stages, const MegatronCoordinates& at, bool holds_mtp,
                     RankLayoutBuilder& builder) {
  const bool first = at.pipeline == 0;
  const bool last = at.pipeline == degrees.pipeline - 1;
  const RoleTensors& embedding = model[Role::kEmbedding];
  if (embedding.held() && (first || (holds_mtp && at.pipeline == stages.mtp))) {
    const Result<void> added =
        AddVocabularyRows(model, degrees, at.tensor, embedding,
                          model.NameIn("megatron", "embedding.word_embeddings"), builder);
    if (!added) return added;
  }
  if (!last) return {};
  if (const RoleTensors& norm = model[Role::kFinalNorm]; norm.held()) {
    const LinearCut whole{.rows = {AllRows(model, norm)}};
    const bool hybrid = model.family().HasRole(Role::kBlockInputNorm);
    const std::string name = hybrid ? "decoder.final_norm" : "decoder.final_layernorm";
    const Result<void> added =
        LinearBuilder(model, builder).Add(MegatronNames(model.NameIn("megatron", name)), whole);
    if (!added) return added;
  }
  const RoleTensors& head = model.tied() ? embedding : model[Role::kLmHead];
  if (!head.held() || (model.tied() && first)) return {};
  return AddVocabularyRows(model, degrees, at.tensor, head,
                           model.NameIn("megatron", "output_layer"), builder);
}

Result<RankLayout> BuildRank(const FamilyTensors& model, const MegatronDegrees& degrees,
                             const MegatronStages& stages, const MegatronCoordinates& at) {
  RankLayoutBuilder builder(model.model());
  const bool holds_mtp = degrees.mtp && model.mtp_layer_count() > 0;
  const Result<void> ends = AddEnds(model, degrees, stages, at, holds_mtp, builder);
  if (!ends) return tl::unexpected(ends.error());
  for (const auto& [index, layer] : model.layers()) {
    if (layer.mtp && !degrees.mtp) continue;
    const std::int64_t stage =
        layer.mtp ? stages.mtp : stages.of_layer[static_cast<std::size_t>(index)];
    if (stage != at.pipeline) continue;
    const Result<void> added = AddMegatronLayer(model, degrees, at, layer, builder);
    if (!added) return tl::unexpected(added.error());
  }
  return std::move(builder).Build();
}

}  // namespace

Result<GroupLayout> BuildMegatronLayout(const Model& model, const JsonCursor& fields,
                                        std::int64_t rank_count) {
  const Result<MegatronDegrees> degrees = ReadMegatronDegrees(fields, rank_count);
  if (!degrees) return tl::unexpected(degrees.error());
  const Result<std::vector<MegatronCoordinates>> ranks =
      PlaceMegatronRanks(*degrees, rank_count, fields);
  if (!ranks) return tl::unexpected(ranks.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  if (!tensors) return tl::unexpected(tensors.error());
  if (degrees->mtp && tensors->mtp_layer_count() == 0) {
    return fields.Fail("the model has no layers of multi-token prediction", "leave mtp out");
  }
  const Result<MegatronStages> stages =
      PlaceMegatronLayers(fields, degrees->pipeline, tensors->layer_count(),
                          degrees->mtp ? tensors->mtp_layer_count() : 0);
  if (!stages) return tl::unexpected(stages.error());

  Result<GroupLayout> group = ShareRankLayouts(
      rank_count, [&](std::int64_t rank) { return (*ranks)[static_cast<std::size_t>(rank)]; },
      [&](const MegatronCoordinates& at) {
        return At(fields.Place(), BuildRank(*tensors, *degrees, *stages, at));
      });
  if (!group) return group;
  group->recompute = RecomputedBuffers(*tensors, "megatron");
  group->held_otherwise = HeldOtherwise(*tensors, "megatron");
  return group;
}

}  // namespace reshard
