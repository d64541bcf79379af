// From shapes of nodes and their layout to the description of a cluster.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "topology/cluster_description.h"
#include "topology/importers/node_layout.h"
#include "topology/importers/node_shape.h"
#include "topology/importers/slurm_topology.h"

namespace reshard {

struct AssembledCluster {
  ClusterDescription description;
  std::vector<std::string> assumptions;  // a line each
};

// A domain that equals a built-in type, whole or trimmed, has that type's name; others are named
// after `kind_names`, the built-in type whose GPUs the nodes of each shape have. GPUs and NICs that
// differ from their siblings become overrides; SLURM's switches switches of the fabric where
// they hold whole domains, but not all. Fails where nodes of one domain differ in more than rates.
Result<AssembledCluster> AssembleCluster(std::span<const NodeShape> shapes,
                                         std::span<const std::string> kind_names,
                                         const NodeLayout& layout, const SlurmTopology* slurm);

}  // namespace reshard
