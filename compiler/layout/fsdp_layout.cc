#include "compiler/layout/fsdp_layout.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/layout/family_catalog.h"
#include "compiler/layout/fsdp_degrees.h"
#include "compiler/layout/fsdp_parameter.h"
#include "compiler/layout/huggingface_parameters.h"
#include "compiler/layout/stage_layers.h"

namespace reshard {
namespace {

// How tensor parallelism cuts a linear's weight; its bias goes with the rows. Stacks of experts
// that are input-major have the rows last.
enum class TensorCut : std::uint8_t { kWhole, kRows, kColumns };

std::optional<TensorCut> TensorCutOf(Role role) {
  switch (role) {
    case Role::kEmbedding:
    case Role::kLmHead:
    case Role::kAttentionQuery:
    case Role::kAttentionKey:
    case Role::kAttentionValue:
    case Role::kAttentionGatedQuery:
    case Role::kAttentionRotaryQuery:
    case Role::kAttentionRotaryKey:
    case Role::kAttentionSinks:
    case Role::kMlaQuery:
    case Role::kMlaQueryUp:
    case Role::kMlaKeyValueUp:
    case Role::kMlpGate:
    case Role::kMlpUp:
    case Role::kExpertGate:
    case Role::kExpertUp:
    case Role::kExpertsGateUp:
    case Role::kExpertsGateUpByInput:
    case Role::kSharedExpertGate:
    case Role::kSharedExpertUp:
      return TensorCut::kRows;
    case Role::kAttentionOutput:
    case Role::kMlaOutput:
    case Role::kMlpDown:
    case Role::kExpertDown:
    case Role::kExpertsDown:
    case Role::kExpertsDownByInput:
    case Role::kSharedExpertDown:
      return TensorCut::kColumns;
    case Role::kFinalNorm:
    case Role::kAttentionInputNorm:
    case Role::kMlpInputNorm:
    case Role::kBlockInputNorm:
    case Role::kAttentionOutputNorm:
    case Role::kMlpOutputNorm:
    case Role::kAttentionQueryNorm:
    case Role::kAttentionKeyNorm:
    case Role::kMlaQueryDown:
    case Role::kMlaQueryNorm:
    case Role::kMlaKeyValueDown:
    case Role::kMlaKeyValueNorm:
    case Role::kRouter:
    case Role::kRouterExpertBias:
    case Role::kSharedExpertRouter:
    case Role::kLatentDown:
    case Role::kLatentUp:
      return TensorCut::kWhole;
    default:
      return std::nullopt;
  }
}

bool IsByInput(Role role) {
  return role == Role::kExpertsGateUpByInput || role == Role::kExpertsDownByInput;
}

// The dim of a weight or bias that a cut of rows or columns is along. Stacks of all experts have
// one dim before these.
int TensorDim(const WholeParameter& whole, TensorCut cut) {
  const Role role = *whole.role;
  const bool stacked =
      IsExpertStackRole(role) || (IsExpertRole(role) && whole.expert == WholeParameter::kNone);
  const bool last = (cut == TensorCut::kColumns) != IsByInput(role) && whole.kind == Kind::kWeight;
  return (stacked ? 1 : 0) + (last ? 1 : 0);
}

Result<FsdpParameter> WithCut(WholeParameter whole, const FsdpDegrees& degrees) {
  FsdpParameter parameter;
  const Role role = *whole.role;
  parameter.expert = IsExpertRole(role) || IsExpertStackRole(role);
  // Models register the bias that corrects the router as a buffer.
  parameter.buffer = role == Role::kRouterExpertBias;
  const bool cuts = degrees.tensor > 1 && !(parameter.expert && degrees.expert > 1);
  const std::optional<TensorCut> cut = TensorCutOf(role);
  if (cuts && !cut) {
    return InputError(
        "",
        whole.name + ": how tensor parallelism cuts " + std::string(Name(role)) + " is not known",
        "say the layout explicitly, or leave tensor at 1");
  }
  const bool whole_bias = whole.kind == Kind::kBias && cut == TensorCut::kColumns;
  if (cuts && *cut != TensorCut::kWhole && !whole_bias) {
    if (whole.kind == Kind::kScale) {
      return InputError("",
                        whole.name + ": block scales under tensor parallelism are not supported",
                        "give a model without scales, or leave tensor at 1");
    }
    parameter.tensor_dim = TensorDim(whole, *cut);
    constexpr std::int64_t kGateAndUp = 2;
    const bool joined =
        whole.joined || role == Role::kExpertsGateUp || role == Role::kExpertsGateUpByInput;
    parameter.tensor_parts = joined ? kGateAndUp : 1;
  }
  parameter.whole = std::move(whole);
  return parameter;
}

// What stages need to know of a model.
struct Stages {
  std::vector<std::int64_t> first_layers;

  std::int64_t last() const { return static_cast<std::int64_t>(first_layers.size()) - 2; }
  std::int64_t Of(const WholeParameter& parameter) const {
    if (parameter.layer == WholeParameter::kNone) {
      return parameter.role == Role::kEmbedding ? 0 : last();
    }
    std::int64_t stage = 0;
    while (first_layers[static_cast<std::size_t>(stage) + 1] <= parameter.layer) ++stage;
    return stage;
  }
};

// Frameworks differ in where layers go that do not divide.
Result<Stages> PlaceStages(const JsonCursor& fields, std::int64_t stage_count,
                           std::int64_t layer_count) {
  if (!fields.Has("layersPerStage") && layer_count % stage_count != 0) {
    return fields.Fail(std::to_string(layer_count) + " layers do not divide by " +
                           std::to_string(stage_count) + " stages",
                       "give layersPerStage");
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(stage_count),
                                   layer_count / stage_count);
  counts.back() += layer_count % stage_count;
  Result<std::vector<std::int64_t>> first = FirstLayers(fields, counts, layer_count);
  if (!first) return tl::unexpected(first.error());
  return Stages{*std::move(first)};
}

Result<std::vector<FsdpParameter>> ParametersOf(const FamilyTensors& model,
                                                const FsdpDegrees& degrees, HuggingfaceNames names,
                                                const Stages& stages) {
  Result<std::vector<WholeParameter>> whole =
      names == HuggingfaceNames::kMemory
          ? MemoryParameters(model)
          : Result<std::vector<WholeParameter>>(PublishedParameters(model));
  if (!whole) return tl::unexpected(whole.error());
  std::vector<FsdpParameter> parameters;
  for (WholeParameter& one : *whole) {
    if (one.layer >= model.layer_count()) continue;  // of multi-token prediction
    const std::int64_t stage = stages.Of(one);
    Result<FsdpParameter> parameter = WithCut(std::move(one), degrees);
    if (!parameter) return tl::unexpected(parameter.error());
    parameter->stage = stage;
    parameters.push_back(*std::move(parameter));
  }
  // A tied LM head on another stage than the embedding is a copy of it.
  const RoleTensors& embedding = model[Role::kEmbedding];
  if (model.tied() && embedding.held() && stages.last() > 0) {
    WholeParameter head = WholeTensor(model, embedding[Kind::kWeight]);
    head.name = "lm_head.weight";
    head.role = Role::kLmHead;
    Result<FsdpParameter> parameter = WithCut(std::move(head), degrees);
    if (!parameter) return tl::unexpected(parameter.error());
    parameter->stage = stages.last();
    parameters.push_back(*std::move(parameter));
  }
  return parameters;
}

// Without a family: every tensor cut along its rows by FSDP alone.
std::vector<FsdpParameter> UnknownParameters(const Model& model) {
  std::vector<FsdpParameter> parameters;
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    const Tensor& tensor = model.tensors[t];
    FsdpParameter& parameter = parameters.emplace_back();
    parameter.whole = {.name = tensor.name,
                       .dtype = tensor.dtype,
                       .block = Block::OfTensor(static_cast<TensorIndex>(t), tensor.shape)};
  }
  return parameters;
}

bool SaysItsFamily(const Model& model) {
  return !model.family.empty() || model.config.root.AsObject() != nullptr ||
         model.own_family.root.AsObject() != nullptr;
}

}  // namespace

Result<GroupLayout> BuildFsdpLayout(const Model& model, const JsonCursor& fields,
                                    std::int64_t rank_count) {
  std::vector<std::string_view> known(kFsdpDegreeFields.begin(), kFsdpDegreeFields.end());
  known.insert(known.end(), {"names", "layersPerStage"});
  if (const Result<void> expected = fields.ExpectFields(known); !expected) {
    return tl::unexpected(expected.error());
  }
  const Result<FsdpDegrees> degrees = ReadFsdpDegrees(fields, rank_count);
  if (!degrees) return tl::unexpected(degrees.error());
  const Result<HuggingfaceNames> names = ReadHuggingfaceNames(fields);
  if (!names) return tl::unexpected(names.error());
  const bool alone = degrees->tensor == 1 && degrees->expert == 1 && degrees->pipeline == 1 &&
                     *names == HuggingfaceNames::kPublished;
  if (alone && !SaysItsFamily(model) && !FamilyOf(model)) {
    return At(fields.Place(), CutByFsdp(model, UnknownParameters(model), *degrees, 0, rank_count));
  }
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  if (!tensors) return tl::unexpected(tensors.error());
  const Result<Stages> stages = PlaceStages(fields, degrees->pipeline, tensors->layer_count());
  if (!stages) return tl::unexpected(stages.error());
  const Result<std::vector<FsdpParameter>> parameters =
      At(fields.Place(), ParametersOf(*tensors, *degrees, *names, *stages));
  if (!parameters) return tl::unexpected(parameters.error());
  return At(fields.Place(),
            CutByFsdp(model, *parameters, *degrees, tensors->expert_count(), rank_count));
}

}  // namespace reshard
