#include "compiler/baselines/written_job.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "compiler/layout/index_list.h"
#include "compiler/layout/megatron_degrees.h"
#include "compiler/layout/vllm_degrees.h"
#include "foundation/json_cursor.h"
#include "foundation/strict_json.h"

namespace reshard {
namespace {

// Numbers distinct keys 0, 1, .. in the order they come.
template <typename Key>
class Numbering {
 public:
  std::int64_t Of(const Key& key) {
    return numbers_.try_emplace(key, static_cast<std::int64_t>(numbers_.size())).first->second;
  }

 private:
  std::map<Key, std::int64_t> numbers_;
};

class WrittenSideReader {
 public:
  WrittenSideReader(const Job& job, std::string_view side) : job_(job), name_(side) {
    is_source_ = side == "source";
    side_.places.resize(job.records.ranks.size());
    for (std::size_t rank = 0; rank < side_.places.size(); ++rank) {
      rank_of_gpu_.emplace(job.records.ranks[rank].gpu, rank);
    }
  }

  Result<WrittenSide> Read() {
    PlaceByLayout();
    Result<JsonDocument> document = ParseJson(job_.canonical_json, "job");
    if (!document) return tl::unexpected(document.error());
    const std::optional<JsonCursor> side = JsonCursor(*document).Find(name_);
    if (!side) return std::move(side_);
    std::vector<JsonCursor> groups{*side};
    if (const auto list = side->Elements(); list) groups = *list;
    std::int64_t first_stage = 0;
    for (const JsonCursor& group : groups) {
      Result<std::int64_t> stages = PlaceGroup(group, first_stage);
      if (!stages) return tl::unexpected(stages.error());
      first_stage += *stages;
    }
    side_.stages = std::max<std::int64_t>(first_stage, 1);
    return std::move(side_);
  }

 private:
  using GroupKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

  void PlaceByLayout() {
    for (std::size_t rank = 0; rank < side_.places.size(); ++rank) {
      const Rank& record = job_.records.ranks[rank];
      const LayoutIndex layout = is_source_ ? record.source_layout : record.destination_layout;
      if (layout == kNoLayout) continue;
      WrittenPlace& place = side_.places[rank];
      place.dense_group = numbering_.Of({-1, 0, layout});
      place.expert_group = place.dense_group;
    }
  }

  // Returns how many stages the group has.
  Result<std::int64_t> PlaceGroup(const JsonCursor& group, std::int64_t first_stage) {
    const Result<std::string> text = group.String("gpus");
    if (!text) return tl::unexpected(text.error());
    const Result<std::vector<std::int32_t>> gpus =
        ParseIndexList(*text, static_cast<std::int64_t>(job_.cluster.gpus.size()));
    if (!gpus) return tl::unexpected(gpus.error());
    const Result<JsonCursor> layout = group.Field("layout");
    if (!layout) return tl::unexpected(layout.error());
    if (const std::optional<JsonCursor> fields = layout->Find("megatron")) {
      return PlaceMegatron(*fields, *gpus, first_stage);
    }
    if (const std::optional<JsonCursor> fields = layout->Find("vllm")) {
      return PlaceVllm(*fields, *gpus, first_stage);
    }
    for (const std::int32_t gpu : *gpus) {
      if (WrittenPlace* place = PlaceOf(gpu)) place->stage = first_stage;
    }
    return 1;
  }

  Result<std::int64_t> PlaceMegatron(const JsonCursor& fields,
                                     const std::vector<std::int32_t>& gpus,
                                     std::int64_t first_stage) {
    const auto count = static_cast<std::int64_t>(gpus.size());
    const Result<MegatronDegrees> degrees = ReadMegatronDegrees(fields, count);
    if (!degrees) return tl::unexpected(degrees.error());
    const auto ranks = PlaceMegatronRanks(*degrees, count, fields);
    if (!ranks) return tl::unexpected(ranks.error());
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      WrittenPlace* place = PlaceOf(gpus[i]);
      if (place == nullptr) continue;
      const MegatronCoordinates& at = (*ranks)[i];
      place->stage = first_stage + at.pipeline;
      place->dense_group = numbering_.Of({place->stage, 0, at.tensor});
      place->expert_group =
          numbering_.Of({place->stage, 1, at.expert * degrees->expert_tensor + at.expert_tensor});
    }
    return degrees->pipeline;
  }

  Result<std::int64_t> PlaceVllm(const JsonCursor& fields, const std::vector<std::int32_t>& gpus,
                                 std::int64_t first_stage) {
    const Result<VllmDegrees> degrees =
        ReadVllmDegrees(fields, static_cast<std::int64_t>(gpus.size()));
    if (!degrees) return tl::unexpected(degrees.error());
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if (WrittenPlace* place = PlaceOf(gpus[i])) {
        place->stage = first_stage + PlaceVllmRank(*degrees, at, /*has_experts=*/true).pipeline;
      }
    }
    return degrees->pipeline;
  }

  // Null for a GPU that the job leaves out.
  WrittenPlace* PlaceOf(std::int32_t gpu) {
    const auto rank = rank_of_gpu_.find(gpu);
    return rank == rank_of_gpu_.end() ? nullptr : &side_.places[rank->second];
  }

  const Job& job_;
  std::string_view name_;
  bool is_source_ = false;
  std::map<std::int32_t, std::size_t> rank_of_gpu_;
  Numbering<GroupKey> numbering_;
  WrittenSide side_;
};

}  // namespace

Result<WrittenSide> ReadWrittenSide(const Job& job, std::string_view side) {
  return WrittenSideReader(job, side).Read();
}

bool IsExpert(std::string_view tensor_name) {
  return tensor_name.find(".experts.") != std::string_view::npos;
}

}  // namespace reshard
