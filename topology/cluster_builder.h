// From the description of a cluster to the cluster: domains laid out, GPUs and NICs numbered,
// overrides applied.
#pragma once

#include "foundation/error.h"
#include "topology/cluster.h"
#include "topology/cluster_description.h"

namespace reshard {

// More is refused before anything is allocated.
inline constexpr std::int64_t kMaxGpus = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxNics = std::int64_t{1} << 22;
inline constexpr std::int64_t kMaxNicLinks = std::int64_t{1} << 24;  // NICs times GPUs each serves

// A trimmed domain keeps its first GPUs and the NICs that serve one of them; a domain of one GPU
// has no NVLink. Fails on an index in fabric or overrides that the cluster lacks, on `nicGBps` of a
// GPU that shares a NIC or has none, and on NVLink for a domain of one GPU.
Result<Cluster> BuildCluster(const ClusterDescription& description);

}  // namespace reshard
