// What every layout, explicit or a framework's, is built into; and who builds which.
//
// An adapter composes blocks and hands them to a RankLayoutBuilder, once per distinct layout: ranks
// that hold the same regions at the same places (replicas) share one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/layout/model.h"
#include "compiler/layout/rank_layout_builder.h"
#include "foundation/error.h"
#include "foundation/json_cursor.h"
#include "schedules/job_records.h"

namespace reshard {

// What the ranks of one group hold.
struct GroupLayout {
  std::vector<RankLayout> layouts;  // built ones; a rank that holds nothing has an empty one
  std::vector<std::int32_t> layout_of_rank;  // into `layouts`, in rank order of the group
  std::vector<std::string> recompute;        // buffers derived after loading, as name patterns
  // Tensors that no layout holds though the model has them, and what is held in their place.
  std::map<std::string, std::string, std::less<>> held_otherwise;
};

// A builder of one kind of layout: BuildExplicitLayout in explicit_layout.h, BuildMegatronLayout in
// megatron_layout.h and so on. `fields` is what stands behind the kind's name in the job
// ({"megatron": fields}); `rank_count` >= 1 is the number of GPUs of the group.
using LayoutBuilder = Result<GroupLayout> (*)(const Model& model, const JsonCursor& fields,
                                              std::int64_t rank_count);

// The builder of a kind; nullptr if there is none of that name.
LayoutBuilder FindLayoutBuilder(std::string_view kind);
// Their names: "explicit, megatron, ..".
std::string LayoutKinds();

// `result`, with `place` before its error's own place.
template <typename T>
Result<T> At(const std::string& place, Result<T> result) {
  if (!result) {
    std::string& inner = result.error().place;
    inner = inner.empty() ? place : place + ": " + inner;
  }
  return result;
}

}  // namespace reshard
