// Job records of a mixture-of-experts refit, made directly from regions: source ranks hold whole
// experts (expert parallel inside pipeline stages), destination ranks a slice of every tensor.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schedules/job_records.h"

namespace reshard {

struct MoeShape {
  std::int64_t layers = 2;
  std::int64_t experts = 4;
  std::int64_t hidden = 256;
  std::int64_t width = 64;        // of an expert
  std::int64_t dense_rows = 128;  // of one dense matrix per layer, cut by rows
  std::int64_t pipeline = 1;      // stages of layers / pipeline each, the remainder to the first
  std::int64_t expert_parallel = 2;
  std::int64_t source_ranks = 2;
  std::int64_t tensor_parallel = 2;
  std::int64_t destination_ranks = 2;
  std::int64_t ranks_per_domain = 2;
};

// As refits are: pipeline stages of expert-parallel ranks with one replica, to tensor-parallel
// engines; 10 GB, so that latency is little.
inline MoeShape LargeMoe() {
  MoeShape shape;
  shape.layers = 16;
  shape.experts = 16;
  shape.hidden = 4096;
  shape.width = 1536;
  shape.dense_rows = 8192;
  shape.pipeline = 2;
  shape.expert_parallel = 8;
  shape.source_ranks = 32;
  shape.tensor_parallel = 4;
  shape.destination_ranks = 32;
  shape.ranks_per_domain = 8;
  return shape;
}

class MoeRecords {
 public:
  explicit MoeRecords(const MoeShape& shape) : shape_(shape) {
    for (std::int64_t l = 0; l < shape.layers; ++l) {
      for (std::int64_t e = 0; e < shape.experts; ++e) {
        Add(Name(l, e, "down"), {shape.hidden, shape.width});
        Add(Name(l, e, "gate"), {shape.width, shape.hidden});
        Add(Name(l, e, "up"), {shape.width, shape.hidden});
      }
      Add(Name(l, -1, "dense"), {shape.dense_rows, shape.hidden});
      Add(Name(l, -1, "norm"), {shape.hidden});
    }
    std::sort(job_.tensors.begin(), job_.tensors.end(),
              [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
    AddSources();
    AddDestinations();
    for (std::size_t r = 0; r < job_.ranks.size(); ++r) {
      job_.ranks[r].gpu = static_cast<std::int32_t>(r);
      job_.ranks[r].domain =
          static_cast<std::int32_t>(static_cast<std::int64_t>(r) / shape.ranks_per_domain);
      job_.ranks[r].node = job_.ranks[r].domain;
    }
  }

  const JobRecords& job() const { return job_; }

 private:
  static std::string Padded(std::int64_t value) {
    const std::string text = std::to_string(value);
    return std::string(4 - std::min<std::size_t>(4, text.size()), '0') + text;
  }
  static std::string Name(std::int64_t layer, std::int64_t expert, const char* what) {
    return "layers." + Padded(layer) + (expert < 0 ? "" : ".experts." + Padded(expert)) + "." +
           what;
  }
  void Add(std::string name, std::vector<std::int64_t> shape) {
    job_.tensors.push_back({std::move(name), DType::kBF16, std::move(shape)});
  }
  // layer and expert of a tensor's name; expert -1 for dense ones.
  static std::pair<std::int64_t, std::int64_t> Place(const std::string& name) {
    const std::int64_t layer = std::stoll(name.substr(7, 4));
    const auto at = name.find(".experts.");
    return {layer, at == std::string::npos ? -1 : std::stoll(name.substr(at + 9, 4))};
  }
  static void AddSlice(RankLayout& layout, TensorIndex t, const Tensor& tensor, std::size_t dim,
                       std::int64_t begin, std::int64_t extent) {
    std::vector<std::int64_t> first(tensor.shape.size(), 0);
    std::vector<std::int64_t> size = tensor.shape;
    if (dim < size.size()) {
      first[dim] = begin;
      size[dim] = extent;
    }
    std::vector<std::int64_t> stride(size.size(), 1);
    for (std::size_t k = size.size(); k-- > 1;) stride[k - 1] = stride[k] * size[k];
    layout.parameters.push_back({tensor.name, tensor.dtype, size});
    layout.regions.Add(
        {t, static_cast<ParameterIndex>(layout.parameters.size()) - 1, 0, first, size, stride});
  }
  void AddSources() {
    const std::int64_t per_stage = shape_.source_ranks / shape_.pipeline;
    for (std::int64_t p = 0; p < shape_.pipeline; ++p) {
      for (std::int64_t n = 0; n < shape_.expert_parallel; ++n) {
        RankLayout layout;
        for (std::size_t t = 0; t < job_.tensors.size(); ++t) {
          const auto [layer, expert] = Place(job_.tensors[t].name);
          if (layer * shape_.pipeline / shape_.layers != p) continue;
          if (expert >= 0 && expert * shape_.expert_parallel / shape_.experts != n) continue;
          AddSlice(layout, static_cast<TensorIndex>(t), job_.tensors[t], 99, 0, 0);
        }
        job_.layouts.push_back(std::move(layout));
      }
    }
    for (std::int64_t r = 0; r < shape_.source_ranks; ++r) {
      Rank rank;
      rank.source_group = 0;
      rank.source_layout = static_cast<LayoutIndex>(r / per_stage * shape_.expert_parallel +
                                                    r % shape_.expert_parallel);
      job_.ranks.push_back(rank);
    }
  }
  void AddDestinations() {
    const auto first = static_cast<LayoutIndex>(job_.layouts.size());
    for (std::int64_t t = 0; t < shape_.tensor_parallel; ++t) {
      RankLayout layout;
      for (std::size_t i = 0; i < job_.tensors.size(); ++i) {
        const Tensor& tensor = job_.tensors[i];
        const bool norm = tensor.shape.size() == 1;
        const std::size_t dim = tensor.name.ends_with("down") ? 1 : 0;
        const std::int64_t size = norm ? 0 : tensor.shape[dim] / shape_.tensor_parallel;
        AddSlice(layout, static_cast<TensorIndex>(i), tensor, norm ? 99 : dim, t * size, size);
      }
      job_.layouts.push_back(std::move(layout));
    }
    for (std::int64_t r = 0; r < shape_.destination_ranks; ++r) {
      Rank rank;
      rank.destination_group = 0;
      rank.destination_layout = first + static_cast<LayoutIndex>(r % shape_.tensor_parallel);
      job_.ranks.push_back(rank);
    }
  }

  MoeShape shape_;
  JobRecords job_;
};

}  // namespace reshard
