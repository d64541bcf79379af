// What holds of any adapter's layout, counted element by element on small models.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/layout/layout_builder.h"
#include "schedules/job_records.h"

namespace reshard {

// Calls `visit` with every index of a box of `extent`.
inline void ForEachElement(std::span<const std::int64_t> extent,
                           const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  std::vector<std::int64_t> index(extent.size(), 0);
  std::int64_t total = 1;
  for (const std::int64_t size : extent) total *= size;
  for (std::int64_t n = 0; n < total; ++n) {
    visit(index);
    for (std::size_t d = extent.size(); d-- > 0;) {
      if (++index[d] < extent[d]) break;
      index[d] = 0;
    }
  }
}

// How often each element of a tensor is held by `ranks` of the group, row-major.
using HeldCounts = std::map<std::string, std::vector<int>>;

// Counts over `ranks`. Fails the test where a region leaves its parameter or tensor, or where two
// regions of a rank declare one element of a parameter.
inline HeldCounts CountHeld(const Model& model, const GroupLayout& group,
                            std::span<const std::int64_t> ranks) {
  HeldCounts counts;
  for (const Tensor& tensor : model.tensors) {
    std::int64_t total = 1;
    for (const std::int64_t size : tensor.shape) total *= size;
    counts[tensor.name].assign(static_cast<std::size_t>(total), 0);
  }
  for (const std::int64_t rank : ranks) {
    const RankLayout& layout = group.layouts.at(
        static_cast<std::size_t>(group.layout_of_rank.at(static_cast<std::size_t>(rank))));
    std::vector<std::set<std::int64_t>> written(layout.parameters.size());
    for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
      const Region region = layout.regions[r];
      const Tensor& tensor = model.tensors[static_cast<std::size_t>(region.tensor)];
      const Parameter& parameter = layout.parameters[static_cast<std::size_t>(region.parameter)];
      EXPECT_EQ(parameter.dtype, tensor.dtype) << parameter.name;
      std::int64_t size = 1;
      for (const std::int64_t dim : parameter.shape) size *= dim;
      ForEachElement(region.extent, [&](const std::vector<std::int64_t>& index) {
        std::int64_t in_tensor = 0;
        std::int64_t at = region.offset;
        for (std::size_t d = 0; d < index.size(); ++d) {
          EXPECT_LT(region.begin[d] + index[d], tensor.shape[d]) << tensor.name;
          in_tensor = in_tensor * tensor.shape[d] + region.begin[d] + index[d];
          at += index[d] * region.stride[d];
        }
        EXPECT_TRUE(at >= 0 && at < size) << parameter.name;
        EXPECT_TRUE(written[static_cast<std::size_t>(region.parameter)].insert(at).second)
            << parameter.name << " declares element " << at << " twice";
        ++counts[tensor.name][static_cast<std::size_t>(in_tensor)];
      });
    }
  }
  return counts;
}

// Every element of every tensor is held at least once by `ranks`, unless `left_out` says that the
// tensor is held by none.
inline void ExpectComplete(const Model& model, const GroupLayout& group,
                           std::span<const std::int64_t> ranks,
                           const std::function<bool(const std::string&)>& left_out = {}) {
  for (const auto& [name, counts] : CountHeld(model, group, ranks)) {
    const bool out = left_out && left_out(name);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      ASSERT_EQ(counts[i] > 0, !out)
          << name << " element " << i << " is held " << counts[i] << " times";
    }
  }
}

}  // namespace reshard
