// NCCL's topology XML: the dump form (NCCL_TOPO_DUMP_FILE), with gpu, nvlink and net elements, and
// the input form (NCCL_TOPO_FILE), which may hold the PCI tree alone.
//
// In the input form GPUs and NICs are PCI devices by class (0x03.., 0x02..). Distances are those of
// NCCL: by the nearest common ancestor of GPU and NIC in the tree. A NIC under numaid="-1",
// directly under the system element, or without a PCI device is as far from every GPU as can be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"
#include "topology/importers/node_description.h"

namespace reshard {

// One description a host, in file order; a dump of a multi-node NVLink domain holds several. Errors
// begin with `name`. Document type declarations (and so entities) are refused.
Result<std::vector<NodeDescription>> ReadNcclTopology(std::string_view text,
                                                      const std::string& name);

}  // namespace reshard
