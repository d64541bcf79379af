// Which NIC serves which GPU, by the distances in a node's description.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "topology/importers/node_description.h"

namespace reshard {

// The user's word: `gpu` of every node is served by the NIC of that name or number.
struct NicOfGpu {
  std::int64_t gpu = 0;
  std::string nic;
};

struct NicAssignment {
  std::vector<std::vector<std::int32_t>> gpus;  // [nic]: ascending; empty: serves none
  std::vector<std::string> assumptions;         // a line each
};

// As NCCL: a GPU takes the nearest NICs, of them the fastest. GPUs with the same nearest NICs deal
// them out in order, or share them where one number does not divide the other. Where every path of
// the node is kSystem that is a guess, made aloud where the numbers divide and refused otherwise.
// GPUs that `said` names have exactly those NICs.
Result<NicAssignment> AssignNics(const NodeDescription& node, std::span<const NicOfGpu> said);

}  // namespace reshard
