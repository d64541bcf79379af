#include "compiler/layout/megatron_stages.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

std::string Count(std::int64_t number, std::string_view what) {
  return std::to_string(number) + " " + std::string(what);
}

// Chunks (stage s, chunk k) in order k * stages + s, `counts` layers each.
MegatronStages FromChunks(std::span<const std::int64_t> counts, std::int64_t stage_count) {
  MegatronStages stages;
  for (std::size_t chunk = 0; chunk < counts.size(); ++chunk) {
    stages.of_layer.insert(stages.of_layer.end(), static_cast<std::size_t>(counts[chunk]),
                           static_cast<std::int64_t>(chunk) % stage_count);
  }
  stages.mtp = stage_count - 1;
  return stages;
}

// What counts as a layer beside the layers.
struct Accounted {
  bool embedding = false;
  bool loss = false;
};

Result<MegatronStages> Even(const JsonCursor& fields, std::int64_t stage_count,
                            std::int64_t virtual_stages, std::int64_t layer_count,
                            const Accounted& accounted) {
  const std::int64_t chunks = stage_count * virtual_stages;
  const std::int64_t weight =
      layer_count + (accounted.embedding ? 1 : 0) + (accounted.loss ? 1 : 0);
  if (weight % chunks != 0) {
    return fields.Fail(
        Count(layer_count, "layers") +
            (accounted.embedding || accounted.loss
                 ? ", " + Count(weight, "with what counts as one,")
                 : std::string()) +
            " do not divide by " + Count(stage_count, "stages") +
            (virtual_stages > 1 ? " of " + Count(virtual_stages, "chunks") : ""),
        "give layersPerStage, firstStageLayers and lastStageLayers, or pipelineLayout");
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(chunks), weight / chunks);
  if (accounted.embedding) --counts.front();
  if (accounted.loss) --counts.back();
  if (counts.front() < 0 || counts.back() < 0) {
    return fields.Fail(
        Count(layer_count, "layers are too few for embedding and loss on one chunk"));
  }
  return FromChunks(counts, stage_count);
}

Result<MegatronStages> Listed(const JsonCursor& list, std::int64_t stage_count,
                              std::int64_t virtual_stages, std::int64_t layer_count) {
  const Result<std::vector<std::int64_t>> counts = list.AsIntegers(kNotNegativeInteger);
  if (!counts) return tl::unexpected(counts.error());
  const std::int64_t chunks = stage_count * virtual_stages;
  if (static_cast<std::int64_t>(counts->size()) != chunks) {
    return list.Fail("expected " + Count(chunks, "counts") + ", got " +
                     std::to_string(counts->size()));
  }
  std::int64_t sum = 0;
  for (const std::int64_t count : *counts) {
    // Each is at most the layers there are, so that the sum cannot overflow.
    sum += std::min(count, layer_count + 1);
  }
  if (sum != layer_count) {
    return list.Fail("the counts do not add up to the model's " + Count(layer_count, "layers"));
  }
  return FromChunks(*counts, stage_count);
}

Result<MegatronStages> FirstAndLast(const JsonCursor& fields, std::int64_t stage_count,
                                    std::int64_t virtual_stages, std::int64_t layer_count) {
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> last;
  for (const auto& [name, target] :
       {std::pair{"firstStageLayers", &first}, std::pair{"lastStageLayers", &last}}) {
    if (!fields.Has(name)) continue;
    const Result<std::int64_t> value = fields.Integer(name, {0, layer_count});
    if (!value) return tl::unexpected(value.error());
    *target = *value;
  }
  const std::int64_t given = (first ? 1 : 0) + (last ? 1 : 0);
  const std::int64_t middle_stages = stage_count - given;
  const std::int64_t middle = layer_count - first.value_or(0) - last.value_or(0);
  if (middle_stages < 0 || middle < 0 || (middle_stages == 0 && middle != 0) ||
      (middle_stages > 0 && middle % middle_stages != 0)) {
    return fields.Fail(Count(middle, "layers do not divide over the ") +
                           Count(middle_stages, "other stages") + " of " +
                           std::to_string(stage_count),
                       "correct firstStageLayers and lastStageLayers, or give layersPerStage");
  }
  const std::int64_t each = middle_stages == 0 ? 0 : middle / middle_stages;
  for (const std::int64_t count : {first.value_or(each), last.value_or(each), each}) {
    if (count % virtual_stages == 0) continue;
    return fields.Fail(Count(count, "layers of a stage do not divide by its ") +
                       Count(virtual_stages, "chunks"));
  }
  std::vector<std::int64_t> counts;
  for (std::int64_t chunk = 0; chunk < virtual_stages; ++chunk) {
    for (std::int64_t stage = 0; stage < stage_count; ++stage) {
      std::int64_t count = each;
      if (stage == 0) count = first.value_or(each);
      if (stage == stage_count - 1 && last) count = *last;
      counts.push_back(count / virtual_stages);
    }
  }
  return FromChunks(counts, stage_count);
}

// Expands (..)*n and x*n of a pipelineLayout; an error text, or "".
class LayoutExpander {
 public:
  explicit LayoutExpander(std::string_view text) : rest_(text) {}

  std::string Expand(std::string& expanded) {
    std::string error = Sequence(expanded, 0);
    if (error.empty() && !rest_.empty()) error = "')' without '('";
    return error;
  }

 private:
  // Longer than any model; also what a file's repeat counts may cost.
  static constexpr std::size_t kMaxSize = 1'000'000;

  std::string Sequence(std::string& out, int depth) {
    constexpr int kMaxDepth = 16;
    if (depth > kMaxDepth) return "nested over 16 levels";
    while (!rest_.empty() && rest_.front() != ')') {
      std::string item;
      const char symbol = rest_.front();
      rest_.remove_prefix(1);
      if (symbol == ',' || symbol == ' ') continue;
      if (symbol == '(') {
        if (std::string error = Sequence(item, depth + 1); !error.empty()) return error;
        if (rest_.empty()) return "'(' without ')'";
        rest_.remove_prefix(1);
      } else if (std::string_view("EtmL|").find(symbol) != std::string_view::npos) {
        item = symbol;
      } else {
        return "unexpected '" + std::string(1, symbol) + "'";
      }
      std::size_t times = 1;
      if (rest_.starts_with("*")) {
        rest_.remove_prefix(1);
        if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9')
          return "'*' without a count";
        times = 0;
        while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
          times =
              std::min(kMaxSize + 1, times * 10 + static_cast<std::size_t>(rest_.front() - '0'));
          rest_.remove_prefix(1);
        }
      }
      if (!item.empty() && times > (kMaxSize - out.size()) / item.size()) return "too long";
      for (std::size_t i = 0; i < times; ++i) out += item;
    }
    return "";
  }

  std::string_view rest_;
};

Result<MegatronStages> FromLayout(const JsonCursor& field, std::int64_t stage_count,
                                  std::int64_t virtual_stages, std::int64_t layer_count,
                                  std::int64_t mtp_layer_count) {
  const Result<std::string> text = field.AsString();
  if (!text) return tl::unexpected(text.error());
  std::string expanded;
  if (const std::string error = LayoutExpander(*text).Expand(expanded); !error.empty()) {
    return field.Fail("'" + *text + "': " + error);
  }
  const std::int64_t chunks = 1 + std::count(expanded.begin(), expanded.end(), '|');
  if (chunks != stage_count * virtual_stages) {
    return field.Fail("'" + *text + "' has " + Count(chunks, "chunks") + ", expected " +
                      Count(stage_count * virtual_stages, "for its stages"));
  }
  const auto number_of = [&](char symbol) {
    return static_cast<std::int64_t>(std::count(expanded.begin(), expanded.end(), symbol));
  };
  if (number_of('t') != layer_count) {
    return field.Fail("'" + *text + "' has " + Count(number_of('t'), "layers, the model ") +
                      std::to_string(layer_count));
  }
  if (number_of('m') != mtp_layer_count) {
    return field.Fail("'" + *text + "' has " + Count(number_of('m'), "m, the group holds ") +
                          Count(mtp_layer_count, "layers of multi-token prediction"),
                      "mind that they are held only with \"mtp\": true");
  }
  if (number_of('E') != 1 || !expanded.starts_with('E') || number_of('L') != 1 ||
      !expanded.ends_with('L')) {
    return field.Fail("'" + *text + "' does not begin with its one E and end with its one L");
  }
  MegatronStages stages;
  stages.mtp = stage_count - 1;
  std::int64_t chunk = 0;
  std::optional<std::int64_t> mtp_chunk;
  for (const char symbol : expanded) {
    if (symbol == '|') ++chunk;
    if (symbol == 't') {
      if (mtp_chunk) return field.Fail("'" + *text + "' has t behind m");
      stages.of_layer.push_back(chunk % stage_count);
    }
    if (symbol == 'm') {
      if (mtp_chunk.value_or(chunk) != chunk || (stage_count > 1 && chunk % stage_count == 0)) {
        return field.Fail("'" + *text + "': all m belong to one chunk, and not to stage 0");
      }
      mtp_chunk = chunk;
      stages.mtp = chunk % stage_count;
    }
  }
  return stages;
}

}  // namespace

Result<MegatronStages> PlaceMegatronLayers(const JsonCursor& fields, std::int64_t stage_count,
                                           std::int64_t layer_count, std::int64_t mtp_layer_count) {
  const Result<std::int64_t> virtual_stages =
      fields.IntegerOr("virtualStages", 1, kPositiveInteger);
  if (!virtual_stages) return tl::unexpected(virtual_stages.error());
  const std::optional<JsonCursor> listed = fields.Find("layersPerStage");
  const std::optional<JsonCursor> layout = fields.Find("pipelineLayout");
  const bool ends = fields.Has("firstStageLayers") || fields.Has("lastStageLayers");
  if ((listed ? 1 : 0) + (layout ? 1 : 0) + (ends ? 1 : 0) > 1) {
    return fields.Fail(
        "layersPerStage, pipelineLayout and firstStageLayers/lastStageLayers exclude each other",
        "give one of them");
  }
  Accounted accounted;
  for (const auto& [name, flag] : {std::pair{"accountForEmbedding", &accounted.embedding},
                                   std::pair{"accountForLoss", &accounted.loss}}) {
    const Result<bool> value = fields.BoolOr(name, false);
    if (!value) return tl::unexpected(value.error());
    *flag = *value;
    if (*value && (listed || layout || ends)) {
      return fields.Field(name)->Fail("goes with even stages only", "leave it out");
    }
  }
  // Chunks without a layer are possible only where they are listed one by one.
  const std::optional<std::int64_t> chunks = CheckedMultiply(stage_count, *virtual_stages);
  constexpr std::int64_t kMaxChunks = 1'000'000;
  if (!chunks || *chunks > kMaxChunks) {
    return fields.Fail(Count(stage_count, "stages of ") + Count(*virtual_stages, "chunks") +
                       " are too many");
  }
  if (listed) return Listed(*listed, stage_count, *virtual_stages, layer_count);
  if (layout) {
    return FromLayout(*layout, stage_count, *virtual_stages, layer_count, mtp_layer_count);
  }
  if (ends) return FirstAndLast(fields, stage_count, *virtual_stages, layer_count);
  return Even(fields, stage_count, *virtual_stages, layer_count, accounted);
}

}  // namespace reshard
