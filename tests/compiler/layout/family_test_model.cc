#include "family_test_model.h"

#include <algorithm>
#include <utility>

#include "compiler/layout/folder.h"
#include "compiler/layout/model_reader.h"
#include "foundation/strict_json.h"
#include "gtest/gtest.h"
#include "schedules/dtype.h"
#include "tests/source_directory.h"

namespace reshard {

Model ReferenceModel(const std::string& name, std::int64_t layers) {
  Result<JsonDocument> config =
      ReadJsonFile(SourceDirectory() + "/schedules/reference/" + name + ".config.json");
  EXPECT_TRUE(config.has_value()) << ToString(config.error());
  if (!config) return {};
  if (layers > 0) *config->root.Find("num_hidden_layers") = JsonValue(layers);
  Result<Model> model = ReadModel(JsonCursor(*config), Folder::Nowhere());
  EXPECT_TRUE(model.has_value()) << ToString(model.error());
  return model ? *std::move(model) : Model();
}

Result<Model> ModelOf(const std::string& json) {
  const Result<JsonDocument> document = ParseJson(json, "model.json");
  if (!document) return tl::unexpected(document.error());
  return ReadModel(JsonCursor(*document), Folder::Nowhere());
}

Model BareList(const Model& model) {
  Model bare;
  bare.tensors = model.tensors;
  return bare;
}

Result<GroupLayout> Build(LayoutBuilder build, const Model& model, const std::string& fields,
                          std::int64_t rank_count) {
  const Result<JsonDocument> document = ParseJson(fields, "job.json");
  if (!document) return tl::unexpected(document.error());
  return build(model, JsonCursor(*document), rank_count);
}

GroupLayout Built(LayoutBuilder build, const Model& model, const std::string& fields,
                  std::int64_t rank_count) {
  Result<GroupLayout> group = Build(build, model, fields, rank_count);
  EXPECT_TRUE(group) << ToString(group.error());
  return group ? *std::move(group) : GroupLayout();
}

std::string RefusalOf(LayoutBuilder build, const Model& model, const std::string& fields,
                      std::int64_t rank_count) {
  const Result<GroupLayout> group = Build(build, model, fields, rank_count);
  return group ? "none" : ToString(group.error());
}

Model Of(const std::string& json) {
  Result<Model> model = ModelOf(json);
  EXPECT_TRUE(model) << ToString(model.error());
  return model ? *std::move(model) : Model();
}

const RankLayout& OfRank(const GroupLayout& group, std::int64_t rank) {
  const std::int32_t layout = group.layout_of_rank.at(static_cast<std::size_t>(rank));
  return group.layouts.at(static_cast<std::size_t>(layout));
}

std::int64_t RegionBytes(const Model& model, const RankLayout& layout) {
  std::int64_t bytes = 0;
  for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
    const Region region = layout.regions[r];
    std::int64_t elements = 1;
    for (const std::int64_t extent : region.extent) elements *= extent;
    bytes += elements * ElementBytes(model.tensors[static_cast<std::size_t>(region.tensor)].dtype);
  }
  return bytes;
}

std::vector<std::string> ParameterText(const Model& model, const RankLayout& layout,
                                       const std::string& parameter,
                                       std::string_view dropped_prefix) {
  std::vector<std::string> lines;
  std::vector<std::pair<std::int64_t, std::string>> regions;
  for (std::size_t p = 0; p < layout.parameters.size(); ++p) {
    const Parameter& held = layout.parameters[p];
    if (held.name != parameter) continue;
    std::string line = std::string(Name(held.dtype)) + " [";
    for (std::size_t dim = 0; dim < held.shape.size(); ++dim) {
      line += (dim == 0 ? "" : ", ") + std::to_string(held.shape[dim]);
    }
    lines.push_back(line + "]");
    for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
      const Region region = layout.regions[r];
      if (region.parameter != static_cast<ParameterIndex>(p)) continue;
      std::string at;
      std::int64_t rest = region.offset;
      for (std::size_t dim = held.shape.size(); dim-- > 0;) {
        at.insert(0, (dim == 0 ? "" : ", ") + std::to_string(rest % held.shape[dim]));
        rest /= held.shape[dim];
      }
      std::string_view name = model.tensors[static_cast<std::size_t>(region.tensor)].name;
      if (name.starts_with(dropped_prefix)) name.remove_prefix(dropped_prefix.size());
      std::string box;
      for (std::size_t dim = 0; dim < region.begin.size(); ++dim) {
        box += (dim == 0 ? "" : ", ") + std::to_string(region.begin[dim]) + ":" +
               std::to_string(region.begin[dim] + region.extent[dim]);
      }
      regions.emplace_back(region.offset, "[" + at + "] " + std::string(name) + " [" + box + "]");
    }
  }
  std::sort(regions.begin(), regions.end());
  for (auto& [offset, line] : regions) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::int64_t> ElementsOf(const Model& model, const RankLayout& layout,
                                     const std::string& parameter) {
  const auto found = std::find_if(layout.parameters.begin(), layout.parameters.end(),
                                  [&](const Parameter& held) { return held.name == parameter; });
  if (found == layout.parameters.end()) {
    ADD_FAILURE() << "no parameter " << parameter;
    return {};
  }
  std::int64_t count = 1;
  for (const std::int64_t size : found->shape) count *= size;
  std::vector<std::int64_t> elements(static_cast<std::size_t>(count), -1);
  for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
    const Region region = layout.regions[r];
    if (region.parameter != found - layout.parameters.begin()) continue;
    const Tensor& tensor = model.tensors[static_cast<std::size_t>(region.tensor)];
    std::vector<std::int64_t> at(tensor.shape.size(), 0);
    while (true) {
      std::int64_t in_tensor = 0;
      std::int64_t in_parameter = region.offset;
      for (std::size_t dim = 0; dim < at.size(); ++dim) {
        in_tensor = in_tensor * tensor.shape[dim] + region.begin[dim] + at[dim];
        in_parameter += at[dim] * region.stride[dim];
      }
      EXPECT_EQ(elements.at(static_cast<std::size_t>(in_parameter)), -1) << "declared twice";
      elements.at(static_cast<std::size_t>(in_parameter)) = in_tensor;
      std::size_t dim = at.size();
      while (dim > 0 && ++at[dim - 1] == region.extent[dim - 1]) at[--dim] = 0;
      if (dim == 0) break;
    }
  }
  return elements;
}

std::vector<std::string> ParameterNames(const RankLayout& layout) {
  std::vector<std::string> names;
  for (const Parameter& parameter : layout.parameters) names.push_back(parameter.name);
  return names;
}

}  // namespace reshard
