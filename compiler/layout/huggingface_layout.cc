#include "compiler/layout/huggingface_layout.h"

#include <utility>
#include <vector>

#include "compiler/layout/huggingface_parameters.h"

namespace reshard {
namespace {

Result<RankLayout> WholeModel(const Model& model, HuggingfaceNames names) {
  RankLayoutBuilder builder(model);
  if (names == HuggingfaceNames::kPublished) {
    for (std::size_t t = 0; t < model.tensors.size(); ++t) {
      const Tensor& tensor = model.tensors[t];
      const Result<void> added = builder.AddParameter(
          tensor.name, tensor.dtype, Block::OfTensor(static_cast<TensorIndex>(t), tensor.shape));
      if (!added) return tl::unexpected(added.error());
    }
    return std::move(builder).Build();
  }
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  if (!tensors) return tl::unexpected(tensors.error());
  const Result<std::vector<WholeParameter>> parameters = MemoryParameters(*tensors);
  if (!parameters) return tl::unexpected(parameters.error());
  for (const WholeParameter& parameter : *parameters) {
    const Result<void> added =
        builder.AddParameter(parameter.name, parameter.dtype, parameter.block);
    if (!added) return tl::unexpected(added.error());
  }
  return std::move(builder).Build();
}

}  // namespace

Result<GroupLayout> BuildHuggingfaceLayout(const Model& model, const JsonCursor& fields,
                                           std::int64_t rank_count) {
  const Result<void> known = fields.ExpectFields({"names"});
  if (!known) return tl::unexpected(known.error());
  const Result<HuggingfaceNames> names = ReadHuggingfaceNames(fields);
  if (!names) return tl::unexpected(names.error());
  if (rank_count != 1) {
    return fields.Fail(
        "one GPU holds the whole model, but the group has " + std::to_string(rank_count),
        "use fsdp, with replicate for ranks that each hold all");
  }
  Result<RankLayout> layout = At(fields.Place(), WholeModel(model, *names));
  if (!layout) return tl::unexpected(layout.error());
  GroupLayout group;
  group.layouts.push_back(*std::move(layout));
  group.layout_of_rank.push_back(0);
  return group;
}

}  // namespace reshard
