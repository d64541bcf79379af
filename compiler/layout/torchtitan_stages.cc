#include "compiler/layout/torchtitan_stages.h"

#include <optional>
#include <string>

#include "compiler/layout/stage_layers.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// Layers of each stage; empty where a stage would have less than none.
std::vector<std::int64_t> WeighedCounts(std::int64_t stage_count, std::int64_t layer_count) {
  constexpr std::int64_t kEnds = 2;
  const std::int64_t weight = layer_count + kEnds;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(stage_count), weight / stage_count);
  for (std::int64_t s = 0; s < weight % stage_count; ++s) ++counts[static_cast<std::size_t>(s)];
  --counts.front();
  --counts.back();
  for (const std::int64_t count : counts) {
    if (count < 0) return {};
  }
  return counts;
}

}  // namespace

Result<TorchtitanStages> PlaceTorchtitanLayers(const JsonCursor& fields, std::int64_t pipeline,
                                               std::int64_t layer_count) {
  const Result<std::int64_t> each = fields.IntegerOr("virtualStages", 1, kPositiveInteger);
  if (!each) return tl::unexpected(each.error());
  const Result<std::string> order = fields.StringOr("stageOrder", "loop");
  if (!order) return tl::unexpected(order.error());
  if (*order != "loop" && *order != "v") {
    return fields.Field("stageOrder")
        ->Fail("unknown order '" + *order + "'", "known are 'loop', 'v'");
  }
  constexpr std::int64_t kStagesOfV = 2;
  if (*order == "v" && *each != kStagesOfV) {
    return fields.Field("stageOrder")
        ->Fail("'v' has two stages on a rank, not " + std::to_string(*each),
               "give virtualStages: 2");
  }
  const std::optional<std::int64_t> stages = CheckedMultiply(pipeline, *each);
  constexpr std::int64_t kMaxStages = 1'000'000;
  if (!stages || *stages > kMaxStages) {
    return fields.Fail(std::to_string(pipeline) + " ranks of " + std::to_string(*each) +
                       " stages are too many");
  }
  std::vector<std::int64_t> counts = WeighedCounts(*stages, layer_count);
  if (counts.empty()) {
    if (!fields.Has("layersPerStage")) {
      return fields.Fail(std::to_string(layer_count) + " layers are too few for " +
                         std::to_string(*stages) + " stages");
    }
    counts.assign(static_cast<std::size_t>(*stages), 0);
  }
  const Result<std::vector<std::int64_t>> first = FirstLayers(fields, counts, layer_count);
  if (!first) return tl::unexpected(first.error());
  const auto rank_of = [&](std::int64_t stage) {
    return *order == "v" && stage >= pipeline ? *stages - 1 - stage : stage % pipeline;
  };
  TorchtitanStages placed;
  for (std::int64_t stage = 0; stage < *stages; ++stage) {
    const std::size_t s = static_cast<std::size_t>(stage);
    placed.of_layer.insert(placed.of_layer.end(),
                           static_cast<std::size_t>((*first)[s + 1] - (*first)[s]), rank_of(stage));
  }
  placed.first = rank_of(0);
  placed.last = rank_of(*stages - 1);
  return placed;
}

}  // namespace reshard
