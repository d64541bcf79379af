// M2N's choice of who serves which domains of the destination.
#pragma once

#include <cstdint>
#include <vector>

namespace reshard {

// What the choice depends on, for one tensor.
struct M2nMeshes {
  std::int64_t source_replicas = 1;
  std::int64_t destination_replicas = 1;
  std::int64_t domains = 1;  // of the destination
  // The destination's two axes exceed 1 and its replicas are the inner one.
  bool replicas_inner = false;
  std::int64_t job_ranks = 1;  // of both sides
};

// The domains that one source replica serves from one head: passed on from each to the next.
struct M2nRing {
  std::int64_t source_replica = 0;
  std::vector<std::int64_t> domains;  // ascending, never empty
  bool operator==(const M2nRing&) const = default;
};

// Every domain is in one ring.
std::vector<M2nRing> FindM2nRings(const M2nMeshes& meshes);

}  // namespace reshard
