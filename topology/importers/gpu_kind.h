// Which built-in type's GPUs a node has: their NVLink and HBM rates stand in no topology file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"
#include "topology/domain_type.h"
#include "topology/importers/node_description.h"

namespace reshard {

struct GpuKind {
  DomainType type;                       // the built-in type whose GPUs they are
  std::int64_t nvlinks = 0;              // of a whole GPU
  std::vector<std::string> assumptions;  // what the file left open, a line each
};

// By `said` (a built-in type's name) where it is not empty; else by PCI device, compute capability,
// number of NVLinks or PCIe rate, whichever the file has first. Fails where it has none, or where
// GPUs of a node differ in kind.
Result<GpuKind> RecogniseGpus(const NodeDescription& node, const std::string& said);

// NVLinks of a GPU of a built-in type.
std::int64_t NvlinksOfType(std::string_view type_name);

// How many nodes a full NVLink domain of the type has: 1, or 18 of NVL72.
std::int64_t NodesPerDomain(const DomainType& type);

}  // namespace reshard
