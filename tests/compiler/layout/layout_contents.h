// What a layout says, element by element: the form in which tests write down what they expect.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout/layout_builder.h"
#include "compiler/layout/model_reader.h"
#include "foundation/strict_json.h"
#include "schedules/job_records.h"

namespace reshard {

// Calls `visit` with every index of `shape`, row-major.
inline void ForEachIndex(const std::vector<std::int64_t>& shape,
                         const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t total = 1;
  for (const std::int64_t size : shape) total *= size;
  for (std::int64_t n = 0; n < total; ++n) {
    visit(index);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

// The elements of a parameter in row-major order, each as "tensor[row-major index in the tensor]"
// (as the index alone where the tensor has the parameter's name), "-" for what no region declares.
// "absent" if the rank has no such parameter.
inline std::vector<std::string> Contents(std::span<const Tensor> tensors, const RankLayout& layout,
                                         std::string_view parameter) {
  const auto found = std::find_if(layout.parameters.begin(), layout.parameters.end(),
                                  [&](const Parameter& p) { return p.name == parameter; });
  if (found == layout.parameters.end()) return {"absent"};
  std::int64_t total = 1;
  for (const std::int64_t size : found->shape) total *= size;
  std::vector<std::string> contents(static_cast<std::size_t>(total), "-");
  for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
    const Region region = layout.regions[r];
    if (region.parameter != found - layout.parameters.begin()) continue;
    const Tensor& tensor = tensors[static_cast<std::size_t>(region.tensor)];
    ForEachIndex({region.extent.begin(), region.extent.end()},
                 [&](const std::vector<std::int64_t>& index) {
                   std::int64_t in_tensor = 0;
                   std::int64_t at = region.offset;
                   for (std::size_t d = 0; d < index.size(); ++d) {
                     in_tensor = in_tensor * tensor.shape[d] + region.begin[d] + index[d];
                     at += index[d] * region.stride[d];
                   }
                   const std::string number = std::to_string(in_tensor);
                   ASSERT_GE(at, 0);
                   ASSERT_LT(at, total);
                   EXPECT_EQ(contents[static_cast<std::size_t>(at)], "-") << "declared twice";
                   contents[static_cast<std::size_t>(at)] =
                       tensor.name == parameter ? number : tensor.name + "[" + number + "]";
                 });
  }
  return contents;
}

// The indices first, first + 1, .., last - 1 as Contents writes them.
inline std::vector<std::string> Indices(std::int64_t first, std::int64_t last) {
  std::vector<std::string> indices;
  for (std::int64_t i = first; i < last; ++i) indices.push_back(std::to_string(i));
  return indices;
}

// The shape of a parameter; {-1} if the rank has none of that name.
inline std::vector<std::int64_t> ShapeOf(const RankLayout& layout, std::string_view parameter) {
  for (const Parameter& p : layout.parameters) {
    if (p.name == parameter) return p.shape;
  }
  return {-1};
}

inline JsonDocument Json(std::string_view text, std::string name = "test.json") {
  Result<JsonDocument> document = ParseJson(text, std::move(name));
  if (!document) {
    ADD_FAILURE() << ToString(document.error());
    return {};
  }
  return std::move(*document);
}

// A model from the JSON of a tensor list.
inline Model ModelOf(std::string_view tensor_list) {
  const JsonDocument document = Json(tensor_list, "model.json");
  Result<Model> model = ReadModel(JsonCursor(document), Folder::Nowhere());
  if (!model) {
    ADD_FAILURE() << ToString(model.error());
    return {};
  }
  return std::move(*model);
}

// The layout of one rank of a group.
inline const RankLayout& LayoutOf(const GroupLayout& group, std::size_t rank) {
  return group.layouts[static_cast<std::size_t>(group.layout_of_rank[rank])];
}

}  // namespace reshard
