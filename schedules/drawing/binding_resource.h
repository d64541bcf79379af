// Which part of the cluster the lower bound's witness names, so that a picture can mark it.
#pragma once

#include <cstdint>

#include "schedules/plan.h"
#include "topology/cluster.h"

namespace reshard {

struct BindingResource {
  enum class Kind { kNone, kDomain, kGpu };
  enum class Direction { kBoth, kIngress, kEgress };
  Kind kind = Kind::kNone;
  std::int32_t index = 0;  // of the domain or GPU in the cluster
  Direction direction = Direction::kBoth;
  bool operator==(const BindingResource&) const = default;
};

// Reads "domain 2 ingress: ..", "GPU 7 egress: ..", "domain 1 fan-out: ..". kNone where the witness
// is about several domains or about latency.
BindingResource BindingOf(const BoundWitness& witness);

// The domain of what binds, or -1.
std::int32_t BindingDomain(const BindingResource& binding, const Cluster& cluster);

}  // namespace reshard
