// A cluster as cluster.json says it, before its domains are laid out and numbered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/cluster.h"
#include "topology/domain_type.h"

namespace reshard {

// `count` equal domains in a row.
struct DomainEntry {
  std::int32_t type = 0;       // into ClusterDescription::types
  std::int32_t gpu_count = 0;  // at most the type's; fewer: the domain keeps its first ones
  std::int64_t count = 1;
  bool operator==(const DomainEntry&) const = default;
};

// What one element of "overrides" changes: exactly one of gpu, nic and domain is set, and at least
// one of the values that go with it. Overrides apply in order, later ones win.
struct Override {
  std::optional<std::int64_t> gpu;
  std::optional<std::int64_t> nic;
  std::optional<std::int64_t> domain;
  std::optional<double> nvlink_gbps;  // of a gpu, or of every GPU of a domain
  std::optional<double> nic_gbps;  // of a gpu: of each NIC that serves it alone; of a nic: its own
  std::optional<bool> dead;        // of a gpu
  bool operator==(const Override&) const = default;
};

struct ClusterDescription {
  std::vector<DomainType> types;  // those that entries use, by name ascending
  std::vector<DomainEntry> entries;
  Fabric fabric;
  std::vector<Override> overrides;
  // What errors put before a path in the cluster: "cluster.json: " or "job.json: cluster.".
  std::string place_prefix;
};

}  // namespace reshard
