// Changes of a cluster's description, for what-if: each leaves a description that says the edited
// cluster, as if cluster.json had been written so.
//
// Numbers of GPUs, NICs and domains are those of the cluster that BuildCluster makes of the
// description as it is before the change. Errors carry no place; those about a number that the
// cluster lacks have fault kUsage, those about a change that this cluster does not allow kInput.
#pragma once

#include <cstdint>
#include <vector>

#include "foundation/error.h"
#include "topology/cluster.h"
#include "topology/cluster_description.h"

namespace reshard {

// A new rate, or a factor on the one there was. Either is at least 0.
struct RateChange {
  double value = 0;
  bool scales = false;
  double Of(double rate) const { return scales ? rate * value : value; }
};

// Of one NIC, of every NIC of a rail, of every NIC that serves a GPU alone (refused where one is
// shared), of every NIC of a domain.
Result<void> ChangeNic(std::int64_t nic, RateChange change, ClusterDescription& description);
Result<void> ChangeRail(std::int64_t rail, RateChange change, ClusterDescription& description);
Result<void> ChangeNicsOfGpu(std::int64_t gpu, RateChange change, ClusterDescription& description);
Result<void> ChangeNicsOfDomain(std::int64_t domain, RateChange change,
                                ClusterDescription& description);

// Of one GPU, of every GPU of a domain.
Result<void> ChangeNvlinkOfGpu(std::int64_t gpu, RateChange change,
                               ClusterDescription& description);
Result<void> ChangeNvlinkOfDomain(std::int64_t domain, RateChange change,
                                  ClusterDescription& description);

// No rank may sit on it from now on.
Result<void> KillGpu(std::int64_t gpu, ClusterDescription& description);
// Nor on any GPU of a domain: those named, ascending.
Result<std::vector<GpuIndex>> KillDomain(std::int64_t domain, ClusterDescription& description);

// What a type says of each of its parts.
enum class TypeRate { kNic, kNvlink, kHbm, kNvlinkLatency, kNetworkLatency };

// Of every type in use. What overrides say of single parts stays as it is.
void ChangeTypes(TypeRate rate, RateChange change, ClusterDescription& description);

// Deals the same GPUs, node by node and in order, over `count` equal domains; every GPU and NIC
// keeps its number. Refused where types differ, nodes would be cut or a switch names domains.
Result<void> DealDomains(std::int64_t count, ClusterDescription& description);

// SPINE with that oversubscription, at least 1.
Result<void> SetSpine(double oversubscription, ClusterDescription& description);

}  // namespace reshard
