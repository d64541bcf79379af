#include "topology/cluster_edit.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "topology/cluster_builder.h"

namespace reshard {
namespace {

Result<void> CheckNumber(const char* what, std::int64_t number, std::size_t count) {
  if (number >= 0 && std::cmp_less(number, count)) return {};
  return tl::unexpected<Error>(Error{Fault::kUsage, "",
                                     std::string("there is no ") + what + " " +
                                         std::to_string(number) + " among " + std::to_string(count),
                                     "they are numbered from 0"});
}

void OverrideNic(const Cluster& cluster, NicIndex nic, RateChange change,
                 ClusterDescription& description) {
  Override edit;
  edit.nic = nic;
  edit.nic_gbps = change.Of(cluster.nics[static_cast<std::size_t>(nic)].gbps);
  description.overrides.push_back(edit);
}

void OverrideNvlink(const Cluster& cluster, GpuIndex gpu, RateChange change,
                    ClusterDescription& description) {
  Override edit;
  edit.gpu = gpu;
  edit.nvlink_gbps = change.Of(cluster.gpus[static_cast<std::size_t>(gpu)].nvlink_gbps);
  description.overrides.push_back(edit);
}

// What an override of a whole domain says, GPU by GPU, so that it outlives new domains.
void SpreadDomainOverrides(const Cluster& cluster, std::vector<Override>& overrides) {
  std::vector<Override> spread;
  for (const Override& change : overrides) {
    if (!change.domain) {
      spread.push_back(change);
      continue;
    }
    const Domain& domain = cluster.domains[static_cast<std::size_t>(*change.domain)];
    for (std::int32_t i = 0; i < domain.gpu_count; ++i) {
      Override of_gpu = change;
      of_gpu.domain.reset();
      of_gpu.gpu = domain.first_gpu + i;
      spread.push_back(of_gpu);
    }
  }
  overrides = std::move(spread);
}

// GPUs of a node, where all nodes have as many.
std::optional<std::int32_t> NodeSize(const Cluster& cluster) {
  std::vector<std::int32_t> sizes(static_cast<std::size_t>(cluster.node_count));
  for (const Gpu& gpu : cluster.gpus) ++sizes[static_cast<std::size_t>(gpu.node)];
  const bool equal = std::ranges::all_of(sizes, [&](std::int32_t s) { return s == sizes.front(); });
  return equal ? std::optional(sizes.front()) : std::nullopt;
}

// Nodes that domains had trimmed to `gpus` stay so: the first GPUs, and the NICs that serve one.
void TrimNodes(std::int32_t gpus, DomainType& type) {
  type.gpus_per_node = gpus;
  for (NicType& nic : type.nics) {
    std::erase_if(nic.gpus, [gpus](std::int32_t local) { return local >= gpus; });
  }
  std::erase_if(type.nics, [](const NicType& nic) { return nic.gpus.empty(); });
}

void AddDeath(std::int64_t gpu, ClusterDescription& description) {
  Override edit;
  edit.gpu = gpu;
  edit.dead = true;
  description.overrides.push_back(edit);
}

// Applies `apply` to the cluster that the description makes now.
template <typename Apply>
Result<void> Edit(const ClusterDescription& description, const Apply& apply) {
  const Result<Cluster> cluster = BuildCluster(description);
  if (!cluster) return tl::unexpected(cluster.error());
  return apply(*cluster);
}

}  // namespace

Result<void> ChangeNic(std::int64_t nic, RateChange change, ClusterDescription& description) {
  return Edit(description, [&](const Cluster& cluster) -> Result<void> {
    if (Result<void> known = CheckNumber("NIC", nic, cluster.nics.size()); !known) return known;
    OverrideNic(cluster, static_cast<NicIndex>(nic), change, description);
    return {};
  });
}

Result<void> ChangeRail(std::int64_t rail, RateChange change, ClusterDescription& description) {
  return Edit(description, [&](const Cluster& cluster) -> Result<void> {
    std::set<std::int64_t> rails;
    for (const Nic& nic : cluster.nics) rails.insert(nic.rail);
    if (!rails.contains(rail)) {
      return tl::unexpected<Error>(Error{
          Fault::kUsage, "",
          "there is no rail " + std::to_string(rail) + " among " + std::to_string(rails.size()),
          rails.empty() ? ""
                        : "they are numbered " + std::to_string(*rails.begin()) + " to " +
                              std::to_string(*rails.rbegin())});
    }
    for (std::size_t nic = 0; nic < cluster.nics.size(); ++nic) {
      if (cluster.nics[nic].rail != rail) continue;
      OverrideNic(cluster, static_cast<NicIndex>(nic), change, description);
    }
    return {};
  });
}

Result<void> ChangeNicsOfGpu(std::int64_t gpu, RateChange change, ClusterDescription& description) {
  return Edit(description, [&](const Cluster& cluster) -> Result<void> {
    if (Result<void> known = CheckNumber("GPU", gpu, cluster.gpus.size()); !known) return known;
    const std::vector<NicIndex>& nics = cluster.gpus[static_cast<std::size_t>(gpu)].nics;
    if (nics.empty()) return InputError("", "no NIC serves GPU " + std::to_string(gpu));
    for (const NicIndex nic : nics) {
      if (cluster.nics[static_cast<std::size_t>(nic)].gpus.size() == 1) continue;
      return InputError("", "GPU " + std::to_string(gpu) + " shares NIC " + std::to_string(nic),
                        "edit the NIC: nic " + std::to_string(nic) + "=..");
    }
    for (const NicIndex nic : nics) OverrideNic(cluster, nic, change, description);
    return {};
  });
}

Result<void> ChangeNicsOfDomain(std::int64_t domain, RateChange change,
                                ClusterDescription& description) {
  return Edit(description, [&](const Cluster& cluster) -> Result<void> {
    Result<void> known = CheckNumber("domain", domain, cluster.domains.size());
    if (!known) return known;
    for (std::size_t nic = 0; nic < cluster.nics.size(); ++nic) {
      if (cluster.nics[nic].domain != domain) continue;
      OverrideNic(cluster, static_cast<NicIndex>(nic), change, description);
    }
    return {};
  });
}

Result<void> ChangeNvlinkOfGpu(std::int64_t gpu, RateChange change,
                               ClusterDescription& description) {
  return Edit(description, [&](const Cluster& cluster) -> Result<void> {
    if (Result<void> known = CheckNumber("GPU", gpu, cluster.gpus.size()); !known) return known;
    OverrideNvlink(cluster, static_cast<GpuIndex>(gpu), change, description);
    return {};
  });
}

Result<void> ChangeNvlinkOfDomain(std::int64_t domain, RateChange change,
                                  ClusterDescription& description) {
  return Edit(description, [&](const Cluster& cluster) -> Result<void> {
    Result<void> known = CheckNumber("domain", domain, cluster.domains.size());
    if (!known) return known;
    const Domain& edited = cluster.domains[static_cast<std::size_t>(domain)];
    for (std::int32_t i = 0; i < edited.gpu_count; ++i) {
      OverrideNvlink(cluster, edited.first_gpu + i, change, description);
    }
    return {};
  });
}

Result<void> KillGpu(std::int64_t gpu, ClusterDescription& description) {
  return Edit(description, [&](const Cluster& cluster) -> Result<void> {
    if (Result<void> known = CheckNumber("GPU", gpu, cluster.gpus.size()); !known) return known;
    AddDeath(gpu, description);
    return {};
  });
}

Result<std::vector<GpuIndex>> KillDomain(std::int64_t domain, ClusterDescription& description) {
  const Result<Cluster> cluster = BuildCluster(description);
  if (!cluster) return tl::unexpected(cluster.error());
  Result<void> known = CheckNumber("domain", domain, cluster->domains.size());
  if (!known) return tl::unexpected(known.error());
  const Domain& killed = cluster->domains[static_cast<std::size_t>(domain)];
  std::vector<GpuIndex> gpus;
  for (std::int32_t i = 0; i < killed.gpu_count; ++i) {
    gpus.push_back(killed.first_gpu + i);
    AddDeath(gpus.back(), description);
  }
  return gpus;
}

void ChangeTypes(TypeRate rate, RateChange change, ClusterDescription& description) {
  for (DomainType& type : description.types) {
    switch (rate) {
      case TypeRate::kNic:
        for (NicType& nic : type.nics) nic.gbps = change.Of(nic.gbps);
        break;
      case TypeRate::kNvlink:
        type.nvlink_gbps = change.Of(type.nvlink_gbps);
        break;
      case TypeRate::kHbm:
        type.hbm_gbps = change.Of(type.hbm_gbps);
        break;
      case TypeRate::kNvlinkLatency:
        type.nvlink_latency_us = change.Of(type.nvlink_latency_us);
        break;
      case TypeRate::kNetworkLatency:
        type.network_latency_us = change.Of(type.network_latency_us);
        break;
    }
  }
}

Result<void> DealDomains(std::int64_t count, ClusterDescription& description) {
  return Edit(description, [&](const Cluster& cluster) -> Result<void> {
    if (description.types.size() != 1) {
      return InputError("", "the cluster's domains are of " +
                                std::to_string(description.types.size()) +
                                " types, and it is not said which the new ones are of");
    }
    if (!description.fabric.switches.empty()) {
      return InputError("", "a switch of the fabric names domains, which would be others now",
                        "write a cluster.json with the new domains");
    }
    DomainType& type = description.types.front();
    const auto gpus = static_cast<std::int64_t>(cluster.gpus.size());
    if (count < 1 || gpus % count != 0) {
      return InputError("",
                        std::to_string(gpus) + " GPUs do not divide by " + std::to_string(count));
    }
    const std::int64_t each = gpus / count;
    const std::optional<std::int32_t> node = NodeSize(cluster);
    if (!node || each % *node != 0) {
      return InputError("", "domains of " + std::to_string(each) + " GPUs cut nodes of " +
                                (node ? std::to_string(*node) : "unequal size"));
    }
    TrimNodes(*node, type);
    SpreadDomainOverrides(cluster, description.overrides);
    type.gpu_count = static_cast<std::int32_t>(each);
    description.entries = {DomainEntry{0, static_cast<std::int32_t>(each), count}};
    return {};
  });
}

Result<void> SetSpine(double oversubscription, ClusterDescription& description) {
  if (!(oversubscription >= 1)) {
    return InputError("", "an oversubscription below 1", "1 lets a rail's whole traffic cross");
  }
  description.fabric.rail_crossing = RailCrossing::kSpine;
  description.fabric.spine_oversubscription = oversubscription;
  return {};
}

}  // namespace reshard
