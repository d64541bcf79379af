// Models and layouts as the adapters' tests want them, and what a parameter holds as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout/layout_builder.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"

namespace reshard {

// The model of schedules/reference/NAME.config.json, with `layers` main layers where given (for
// tests that need but a few); the test fails if it cannot be read.
Model ReferenceModel(const std::string& name, std::int64_t layers = 0);
// The model of a JSON text, as `model` stands in a job.
Result<Model> ModelOf(const std::string& json);
// The same; the test fails if it is none.
Model Of(const std::string& json);
// The tensors of `model`, without family and config.
Model BareList(const Model& model);

// The layout that `build` makes of the JSON text of its fields.
Result<GroupLayout> Build(LayoutBuilder build, const Model& model, const std::string& fields,
                          std::int64_t rank_count);

// The same for tests that expect it to be one, which fail otherwise, and for those that expect a
// refusal: its text, "none" if there is none.
GroupLayout Built(LayoutBuilder build, const Model& model, const std::string& fields,
                  std::int64_t rank_count);
std::string RefusalOf(LayoutBuilder build, const Model& model, const std::string& fields,
                      std::int64_t rank_count);

// What rank `rank` holds.
const RankLayout& OfRank(const GroupLayout& group, std::int64_t rank);
// Bytes of the regions of a layout; padding does not count.
std::int64_t RegionBytes(const Model& model, const RankLayout& layout);

// A parameter, one line for it and one for each region, in order of offset:
//   "BF16 [1152, 4096]"
//   "[0, 0] q_proj.weight [0:1024, 0:4096]"
// Names of tensors are given without the longest common prefix up to a dot that the caller says.
std::vector<std::string> ParameterText(const Model& model, const RankLayout& layout,
                                       const std::string& parameter,
                                       std::string_view dropped_prefix = "");
// The elements of a parameter in order, each as the row-major element of the one tensor that fills
// it, -1 for padding. Painted region by region, without the algebra that built the layout.
std::vector<std::int64_t> ElementsOf(const Model& model, const RankLayout& layout,
                                     const std::string& parameter);
// The names of all parameters, sorted.
std::vector<std::string> ParameterNames(const RankLayout& layout);

}  // namespace reshard
