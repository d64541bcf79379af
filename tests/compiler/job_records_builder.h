// Job records by hand: tensors, and for each rank the boxes it holds, each in a parameter of its
// own, row-major, named like its tensor (a second box of one tensor: "name.1").
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schedules/job_records.h"
#include "topology/cluster.h"

namespace reshard {

struct TestBox {
  std::string tensor;
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> extent;
};

class JobRecordsBuilder {
 public:
  // Tensors are added in bytewise order of names, before the ranks.
  void AddTensor(std::string name, DType dtype, std::vector<std::int64_t> shape) {
    job_.tensors.push_back({std::move(name), dtype, std::move(shape)});
  }
  // Ranks get GPUs 0, 1, .. in the order they are added.
  void AddSource(const std::vector<TestBox>& boxes) { AddRank(LayoutOf(boxes), kNoLayout); }
  void AddDestination(const std::vector<TestBox>& boxes) { AddRank(kNoLayout, LayoutOf(boxes)); }
  void AddBoth(const std::vector<TestBox>& source, const std::vector<TestBox>& destination) {
    const LayoutIndex held = LayoutOf(source);
    AddRank(held, LayoutOf(destination));
  }
  void ShareMemory(std::string source, std::string destination) {
    job_.in_place.push_back({std::move(source), std::move(destination)});
  }
  // Takes nodes and domains of the ranks' GPUs from `cluster`.
  JobRecords On(const Cluster& cluster) const {
    JobRecords job = job_;
    for (Rank& rank : job.ranks) {
      rank.node = cluster.gpus[static_cast<std::size_t>(rank.gpu)].node;
      rank.domain = cluster.gpus[static_cast<std::size_t>(rank.gpu)].domain;
    }
    return job;
  }
  JobRecords& job() { return job_; }

 private:
  LayoutIndex LayoutOf(const std::vector<TestBox>& boxes) {
    RankLayout layout;
    for (const TestBox& box : boxes) {
      const auto tensor = std::ranges::find(job_.tensors, box.tensor, &Tensor::name);
      std::vector<std::int64_t> stride(box.extent.size(), 1);
      for (std::size_t k = stride.size(); k-- > 1;) stride[k - 1] = stride[k] * box.extent[k];
      std::string name = box.tensor;
      const auto known = [&](const Parameter& parameter) { return parameter.name == name; };
      for (int i = 1; std::ranges::any_of(layout.parameters, known); ++i) {
        name = box.tensor + "." + std::to_string(i);
      }
      layout.regions.Add({static_cast<TensorIndex>(tensor - job_.tensors.begin()),
                          static_cast<ParameterIndex>(layout.parameters.size()), 0, box.begin,
                          box.extent, stride});
      layout.parameters.push_back({name, tensor->dtype, box.extent});
    }
    const auto at = std::ranges::find(job_.layouts, layout);
    const auto index = static_cast<LayoutIndex>(at - job_.layouts.begin());
    if (at == job_.layouts.end()) job_.layouts.push_back(std::move(layout));
    return index;
  }
  void AddRank(LayoutIndex source, LayoutIndex destination) {
    Rank rank;
    rank.gpu = static_cast<std::int32_t>(job_.ranks.size());
    rank.source_layout = source;
    rank.destination_layout = destination;
    if (source != kNoLayout) rank.source_group = 0;
    if (destination != kNoLayout) rank.destination_group = 0;
    job_.ranks.push_back(rank);
  }

  JobRecords job_;
};

}  // namespace reshard
