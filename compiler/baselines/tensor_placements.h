// Where both sides have each tensor, the way other planners see it: shards and their replicas.
//
// Tensors that lie alike on both sides are one entry with a count, so that a planner works through
// some hundred entries instead of a hundred thousand tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/job_records.h"

namespace reshard {

// A box of a logical tensor, in elements. Never empty.
struct TensorBox {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> extent;
  std::int64_t Elements() const;
  bool operator==(const TensorBox&) const = default;
};

// All of a tensor of `shape`.
TensorBox WholeBox(const std::vector<std::int64_t>& shape);

std::optional<TensorBox> Intersection(const TensorBox& a, const TensorBox& b);

// Whether `part`, a box inside `whole`, is one run of bytes in a row-major buffer of `whole`.
bool IsContiguous(const TensorBox& part, const TensorBox& whole);

// What some ranks of a side have of a tensor: the same boxes.
struct Shard {
  // Ascending by begin, disjoint; boxes that continue each other in the logical tensor are one.
  std::vector<TensorBox> boxes;
  std::vector<RankIndex> ranks;  // ascending: its replicas
  std::int64_t Elements() const;
};

// The shard of `boxes` among `shards`, appended without ranks if there is none.
Shard& ShardOf(std::vector<TensorBox> boxes, std::vector<Shard>& shards);

// Ascending by their boxes, then by their first rank. Each has a box and a rank.
void SortShards(std::vector<Shard>& shards);

// Tensors of one dtype, shape, name pattern and placement.
struct PlacedTensors {
  std::vector<TensorIndex> tensors;  // ascending
  std::string pattern;               // StarredName() of each
  std::int64_t element_bytes = 0;
  std::vector<std::int64_t> shape;
  std::vector<Shard> sources;  // in the order of SortShards()
  std::vector<Shard> destinations;
  std::int64_t count() const { return static_cast<std::int64_t>(tensors.size()); }
};

// "model.layers.*.mlp.experts.*.up_proj.weight": digits between dots become '*'.
std::string StarredName(std::string_view name);

// All tensors of the job. Ascending by first tensor.
std::vector<PlacedTensors> PlaceTensors(const JobRecords& job);

}  // namespace reshard
