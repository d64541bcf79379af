// Topology files of other tools, joined to one cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "topology/cluster.h"
#include "topology/cluster_description.h"
#include "topology/importers/nic_assignment.h"
#include "topology/importers/node_description.h"
#include "topology/importers/node_shape.h"

namespace reshard {

// Larger files are refused before they are read; the largest real ones have a few MB.
inline constexpr std::int64_t kLargestTopologyFile = std::int64_t{16} << 20;

struct TopologyFile {
  std::string name;
  std::string text;
};

// What the user says; it wins over the files.
struct ImportOptions {
  std::optional<std::int64_t> nodes;         // at least 1
  std::optional<std::int64_t> domain_nodes;  // at least 1
  std::optional<double> nic_gbps;            // finite, above 0
  std::vector<NicOfGpu> nic_of;
  std::string type;  // built-in type whose GPUs they are; of its nodes too where no file has one
};

// A node that one of the files describes, as it came out.
struct ImportedNode {
  NodeDescription description;
  std::string kind;  // the built-in type whose GPUs it has
  NodeShape shape;
};

struct ImportedCluster {
  ClusterDescription description;
  Cluster cluster;  // built from the description
  std::vector<ImportedNode> nodes;
  std::vector<std::string> assumptions;  // a line each, in the order in which they were made
};

// Files are told apart by content: NCCL topology XML, `nvidia-smi topo -m`, SLURM's topology.conf
// or topology.yaml (one of these two at most). The XML of one node and one matrix of nvidia-smi are
// of one node, and merged (node_merge.h). A fault of an option has Fault::kUsage.
Result<ImportedCluster> ImportCluster(const std::vector<TopologyFile>& files,
                                      const ImportOptions& options);

}  // namespace reshard
