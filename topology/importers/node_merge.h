// One node told twice: by NCCL's topology XML and by `nvidia-smi topo -m`.
#pragma once

#include "foundation/error.h"
#include "topology/importers/node_description.h"

namespace reshard {

// `nccl` with what it leaves open taken from `smi`: NVLinks of GPUs, all NICs where it names none,
// and the distances of a NIC that it puts nowhere (kSystem to all GPUs). What only `nccl` can tell
// (the kind of the GPUs, rates of NICs) stays. GPUs are matched by number, NICs by name, or by
// their order where no name of one is a name of the other and they are equally many. A NIC that
// only `smi` shows is one that NCCL does not use, and left out.
//
// Where the two contradict each other the XML holds, and a line of the assumptions names what each
// says. Fails where they have different numbers of GPUs: then they are not of one node.
Result<NodeDescription> MergeNode(const NodeDescription& nccl, const NodeDescription& smi);

}  // namespace reshard
