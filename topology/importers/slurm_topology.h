// SLURM's view of a cluster: which nodes there are, in blocks or below switches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"

namespace reshard {

struct SlurmBlock {
  std::string name;
  std::vector<std::int32_t> nodes;  // into SlurmTopology::nodes, ascending and contiguous
};

struct SlurmSwitch {
  std::string name;
  std::vector<std::int32_t> nodes;  // all below it, ascending
};

struct SlurmTopology {
  std::string source;
  std::vector<std::string> nodes;        // in the order of the file, each once; never empty
  std::vector<SlurmBlock> blocks;        // every node in exactly one; empty: no block topology
  std::vector<SlurmSwitch> switches;     // in the order of the file
  std::vector<std::string> assumptions;  // what the reader took for granted, a line each
};

// Whether the first line of `text` that says anything is one of topology.conf.
bool HoldsTopologyConf(std::string_view text);

// topology.conf, of topology/tree or topology/block.
Result<SlurmTopology> ReadTopologyConf(std::string_view text, const std::string& name);

// topology.yaml: the topology with cluster_default, else the first; "tree" or "block".
Result<SlurmTopology> ReadTopologyYaml(std::string_view text, const std::string& name);

}  // namespace reshard
