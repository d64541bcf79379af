#include "compiler/layout/torchtitan_layout.h"

#include <string_view>
#include <vector>

#include "compiler/layout/family_tensors.h"
#include "compiler/layout/fsdp_degrees.h"
#include "compiler/layout/fsdp_parameter.h"
#include "compiler/layout/torchtitan_parameters.h"
#include "compiler/layout/torchtitan_stages.h"

namespace reshard {

Result<GroupLayout> BuildTorchtitanLayout(const Model& model, const JsonCursor& fields,
                                          std::int64_t rank_count) {
  std::vector<std::string_view> known(kFsdpDegreeFields.begin(), kFsdpDegreeFields.end());
  known.insert(known.end(), {"virtualStages", "stageOrder", "layersPerStage", "fusedQkv"});
  if (const Result<void> expected = fields.ExpectFields(known); !expected) {
    return tl::unexpected(expected.error());
  }
  const Result<FsdpDegrees> degrees = ReadFsdpDegrees(fields, rank_count);
  if (!degrees) return tl::unexpected(degrees.error());
  const Result<bool> fused = fields.BoolOr("fusedQkv", false);
  if (!fused) return tl::unexpected(fused.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  if (!tensors) return tl::unexpected(tensors.error());
  const Result<TorchtitanStages> stages =
      PlaceTorchtitanLayers(fields, degrees->pipeline, tensors->layer_count());
  if (!stages) return tl::unexpected(stages.error());
  const Result<std::vector<FsdpParameter>> parameters =
      At(fields.Place(), TorchtitanParameters(*tensors, *degrees, *stages, *fused));
  if (!parameters) return tl::unexpected(parameters.error());
  return At(fields.Place(),
            CutByFsdp(model, *parameters, *degrees, tensors->expert_count(), rank_count));
}

}  // namespace reshard
