// Explicit layouts from text, as tests write them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/layout/explicit_layout.h"
#include "tests/compiler/layout/layout_contents.h"

namespace reshard {

inline GroupLayout Build(const Model& model, std::string_view layout, std::int64_t rank_count) {
  const JsonDocument document = Json(layout, "layout.json");
  Result<GroupLayout> group = BuildExplicitLayout(model, JsonCursor(document), rank_count);
  if (!group) {
    ADD_FAILURE() << ToString(group.error());
    return {};
  }
  return std::move(*group);
}

// The one line with which the layout is refused, or "accepted".
inline std::string Refusal(const Model& model, std::string_view layout, std::int64_t rank_count) {
  const JsonDocument document = Json(layout, "layout.json");
  const Result<GroupLayout> group = BuildExplicitLayout(model, JsonCursor(document), rank_count);
  return group ? "accepted" : ToString(group.error());
}

}  // namespace reshard
