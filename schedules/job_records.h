// The normalised job as plain records: what verifier, planner and runtime work from.
//
// Tensors are sorted by name (bytewise), so that the order in the inputs does not count. Layouts
// are interned: ranks that hold the same regions at the same places share one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schedules/conversion.h"
#include "schedules/dtype.h"
#include "schedules/region_table.h"

namespace reshard {

using RankIndex = std::int32_t;
using LayoutIndex = std::int32_t;
inline constexpr LayoutIndex kNoLayout = -1;
inline constexpr std::int32_t kNoGroup = -1;

// A named global tensor.
struct Tensor {
  std::string name;
  DType dtype = DType::kBF16;
  std::vector<std::int64_t> shape;  // elements; empty for a scalar
  bool operator==(const Tensor&) const = default;
};

// A buffer a rank really holds, contiguous, row-major in `shape`; or, on the source, a computed one
// (conversion.h), which has no memory.
struct Parameter {
  std::string name;
  DType dtype = DType::kBF16;
  std::vector<std::int64_t> shape;
  bool operator==(const Parameter&) const = default;
};

// What one rank holds on one side. Regions are sorted by (tensor, begin), zeros by (parameter,
// offset); those of a destination layout, zeros among them, do not overlap in any parameter. The
// same bytes of a tensor may lie in several regions: the source may be read at any of them, the
// destination is written at all.
struct RankLayout {
  std::vector<Parameter> parameters;
  RegionTable regions;
  RegionTable zeros;  // of kZeroTensor: what the refit fills with zero bytes, on the destination
  std::vector<Conversion> conversions;  // ascending by parameter; none on the destination
  bool operator==(const RankLayout&) const = default;
};

// A member of the sorted union of both sides' GPUs.
struct Rank {
  std::int32_t gpu = 0;  // in the cluster
  std::int32_t node = 0;
  std::int32_t domain = 0;
  std::int32_t source_group = kNoGroup;  // index of its group on each side, or none
  std::int32_t destination_group = kNoGroup;
  LayoutIndex source_layout = kNoLayout;  // into JobRecords::layouts; none if it is not of the side
  LayoutIndex destination_layout = kNoLayout;
  bool operator==(const Rank&) const = default;
};

struct Options {
  std::string planner = "optimal";
  std::int64_t staging_bytes = std::int64_t{2048} << 20;
  std::int64_t chunk_bytes = 0;  // ceiling of a NIC's bytes in one round; 0: the planner chooses
  std::int64_t max_ops_per_group = 2048;
  std::int64_t max_peers = 0;  // 0: no limit
  double nic_share = 1.0;      // share of every NIC the refit may use, (0, 1]
  bool operator==(const Options&) const = default;
};

// A source and a destination parameter that share memory, from byte 0 of both.
struct InPlacePair {
  std::string source_parameter;
  std::string destination_parameter;
  bool operator==(const InPlacePair&) const = default;
};

struct JobRecords {
  std::vector<Tensor> tensors;      // moved ones only
  std::vector<RankLayout> layouts;  // distinct ones
  std::vector<Rank> ranks;          // ascending by gpu
  Options options;
  std::vector<InPlacePair> in_place;
  std::vector<ConvertedTensor> converted;  // tensors that the source computes; ascending by tensor
  bool operator==(const JobRecords&) const = default;
};

}  // namespace reshard
