// A described node in cluster.json's terms: a type for each of its NVLink islands, and what of it a
// type cannot say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "topology/domain_type.h"
#include "topology/importers/gpu_kind.h"
#include "topology/importers/nic_assignment.h"
#include "topology/importers/node_description.h"

namespace reshard {

// What transfers reach of a NIC's line rate: 48 of the 50 GB/s of NDR, measured 46-49 (nccl-tests
// 290, 267); the built-in types take the same share of 200 and 800 Gb/s.
inline constexpr double kReachedShare = 0.96;

// A NIC of the node as it came out, for people.
struct ShapedNic {
  std::string name;
  double gbps = 0;
  std::int32_t rail = 0;
  std::vector<std::int32_t> gpus;  // of the node
};

// GPUs of a node that NVLink connects; those without any NVLink lie in the island of the GPU before
// them where the node has NVLink at all, so that their numbers stay.
struct IslandShape {
  DomainType type;                 // of this node alone, NVLink of its best GPU; its name is empty
  std::vector<std::int32_t> gpus;  // of the node, ascending
};

struct NodeShape {
  std::vector<IslandShape> islands;      // by first GPU; never empty
  std::vector<double> gpu_nvlink_gbps;   // [gpu of the node]; also where its island has no other
  std::vector<ShapedNic> nics;           // those that serve a GPU
  std::vector<std::string> assumptions;  // a line each
};

// `rails` gives the rail of each NIC that serves a GPU, by its index in the description. NIC rates:
// `said_gbps`, else line rate times what transfers reach of it, else that of the kind's built-in
// type where the node has as many NICs for each GPU; else refused.
Result<NodeShape> ShapeNode(const NodeDescription& node, const GpuKind& kind,
                            const NicAssignment& assignment, const std::vector<std::int32_t>& rails,
                            std::optional<double> said_gbps);

// [node][nic]: the rails of all nodes' NICs. A rail is a name of a NIC where every serving NIC of
// every node has a name that the node with most of them has too, else a position among those that
// serve.
std::vector<std::vector<std::int32_t>> NumberRails(std::span<const NodeDescription> nodes,
                                                   std::span<const NicAssignment> assignments);

}  // namespace reshard
