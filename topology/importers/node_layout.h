// Which nodes a cluster has, which description each fits, and which of them NVLink joins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "topology/importers/slurm_topology.h"

namespace reshard {

struct NodeLayout {
  std::vector<std::int32_t> descriptions;  // [node]: which description it fits
  std::vector<std::int64_t> domain_nodes;  // [domain]: its number of nodes; in node order
  std::vector<std::string> assumptions;    // a line each
};

// What decides the layout.
struct LayoutSources {
  std::int64_t description_count = 0;  // of nodes, in all files; at least 1
  bool same_domain = false;            // they are of one file: hosts of one NVLink domain
  std::int64_t nodes_per_domain = 1;   // of the type that the GPUs are of
  std::string type_name;
  std::optional<std::int64_t> nodes;         // --nodes
  std::optional<std::int64_t> domain_nodes;  // --domain-nodes
  const SlurmTopology* slurm = nullptr;      // none: null
};

// Nodes are SLURM's in its order, else --nodes, else one for each description. One description fits
// all nodes; several fit them in turn, as often as they divide the nodes where they are hosts of
// one file, else once. NVLink domains: --domain-nodes; else SLURM's blocks where the type's domains
// span nodes; else the type's, which is refused where it does not divide the nodes.
Result<NodeLayout> LayOutNodes(const LayoutSources& sources);

}  // namespace reshard
