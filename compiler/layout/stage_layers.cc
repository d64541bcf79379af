#include "compiler/layout/stage_layers.h"

#include <algorithm>
#include <optional>
#include <string>

namespace reshard {

Result<std::vector<std::int64_t>> FirstLayers(const JsonCursor& fields,
                                              std::span<const std::int64_t> otherwise,
                                              std::int64_t layer_count) {
  std::vector<std::int64_t> counts(otherwise.begin(), otherwise.end());
  if (const std::optional<JsonCursor> listed = fields.Find("layersPerStage")) {
    const Result<std::vector<std::int64_t>> given = listed->AsIntegers({0, layer_count});
    if (!given) return tl::unexpected(given.error());
    counts = *given;
    if (counts.size() != otherwise.size()) {
      return listed->Fail("expected " + std::to_string(otherwise.size()) + " counts, got " +
                          std::to_string(counts.size()));
    }
  }
  std::vector<std::int64_t> first{0};
  for (const std::int64_t count : counts) {
    // Kept at most one above the layers there are, so that the sum cannot overflow.
    first.push_back(std::min(first.back() + count, layer_count + 1));
  }
  if (first.back() != layer_count) {
    return fields.Field("layersPerStage")
        ->Fail("the counts do not add up to the model's " + std::to_string(layer_count) +
               " layers");
  }
  return first;
}

}  // namespace reshard
