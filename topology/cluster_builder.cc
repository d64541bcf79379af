#include "topology/cluster_builder.h"

#include <algorithm>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

struct Size {
  std::int64_t gpus = 0;
  std::int64_t nics = 0;
  std::int64_t links = 0;
};

// An upper bound: a trimmed node may keep fewer NICs and links.
Size SizeOfDomain(const DomainType& type, std::int32_t gpu_count) {
  const std::int64_t nodes = CeilDivide(gpu_count, type.gpus_per_node);
  Size size{gpu_count, nodes * static_cast<std::int64_t>(type.nics.size()), 0};
  for (const NicType& nic : type.nics) {
    size.links += nodes * static_cast<std::int64_t>(nic.gpus.size());
  }
  return size;
}

// `total` plus count times `each`; false beyond `limit`.
bool AddWithin(std::int64_t& total, std::int64_t each, std::int64_t count, std::int64_t limit) {
  const std::optional<std::int64_t> more = CheckedMultiply(each, count);
  if (!more || *more > limit - total) return false;
  total += *more;
  return true;
}

Result<void> CheckSize(const ClusterDescription& description) {
  Size total;
  for (std::size_t i = 0; i < description.entries.size(); ++i) {
    const DomainEntry& entry = description.entries[i];
    const Size size = SizeOfDomain(description.types[entry.type], entry.gpu_count);
    const char* what = nullptr;
    std::int64_t limit = 0;
    if (!AddWithin(total.gpus, size.gpus, entry.count, kMaxGpus)) {
      what = "GPUs";
      limit = kMaxGpus;
    } else if (!AddWithin(total.nics, size.nics, entry.count, kMaxNics)) {
      what = "NICs";
      limit = kMaxNics;
    } else if (!AddWithin(total.links, size.links, entry.count, kMaxNicLinks)) {
      what = "pairs of a NIC and a GPU it serves";
      limit = kMaxNicLinks;
    }
    if (what != nullptr) {
      return InputError(description.place_prefix + "domains." + std::to_string(i),
                        "the cluster has more than " + std::to_string(limit) + " " + what);
    }
  }
  return {};
}

// Appends the node whose GPUs are [first_gpu, first_gpu + gpu_count).
void AppendNode(const DomainType& type, std::int32_t gpu_count, bool has_nvlink, Cluster& cluster) {
  const auto domain = static_cast<DomainIndex>(cluster.domains.size()) - 1;
  const NodeIndex node = cluster.node_count++;
  const auto first_gpu = static_cast<GpuIndex>(cluster.gpus.size());
  for (std::int32_t i = 0; i < gpu_count; ++i) {
    Gpu gpu;
    gpu.domain = domain;
    gpu.node = node;
    gpu.nvlink_gbps = has_nvlink ? type.nvlink_gbps : 0;
    gpu.hbm_gbps = type.hbm_gbps;
    cluster.gpus.push_back(std::move(gpu));
  }
  for (const NicType& nic_type : type.nics) {
    Nic nic{domain, node, nic_type.rail, nic_type.gbps, {}};
    for (const std::int32_t local : nic_type.gpus) {
      if (local < gpu_count) nic.gpus.push_back(first_gpu + local);
    }
    if (nic.gpus.empty()) continue;
    const auto index = static_cast<NicIndex>(cluster.nics.size());
    for (const GpuIndex gpu : nic.gpus) cluster.gpus[gpu].nics.push_back(index);
    cluster.nics.push_back(std::move(nic));
  }
}

void AppendDomain(const DomainType& type, std::int32_t gpu_count, Cluster& cluster) {
  cluster.domains.push_back({type.name, static_cast<GpuIndex>(cluster.gpus.size()), gpu_count,
                             type.nvlink_latency_us, type.network_latency_us});
  for (std::int32_t done = 0; done < gpu_count; done += type.gpus_per_node) {
    AppendNode(type, std::min(type.gpus_per_node, gpu_count - done), gpu_count > 1, cluster);
  }
}

class OverrideApplier {
 public:
  OverrideApplier(std::string place, Cluster& cluster)
      : place_(std::move(place)), cluster_(cluster) {}

  Result<void> Apply(const Override& change) {
    if (change.gpu) return ApplyToGpu(*change.gpu, change);
    if (change.nic) return ApplyToNic(*change.nic, change);
    return ApplyToDomain(*change.domain, change);
  }

 private:
  Result<void> CheckIndex(const char* field, const char* what, std::int64_t index,
                          std::size_t count) const {
    if (index >= 0 && std::cmp_less(index, count)) return {};
    return InputError(place_ + "." + field, std::string("there is no ") + what + " " +
                                                std::to_string(index) + " among " +
                                                std::to_string(count));
  }

  Result<void> SetNvlink(DomainIndex domain, GpuIndex first, std::int32_t count, double gbps) {
    if (cluster_.domains[domain].gpu_count == 1 && gbps != 0) {
      return InputError(place_ + ".nvlinkGBps",
                        "domain " + std::to_string(domain) + " has one GPU, hence no NVLink",
                        "remove it");
    }
    for (GpuIndex gpu = first; gpu < first + count; ++gpu) cluster_.gpus[gpu].nvlink_gbps = gbps;
    return {};
  }

  Result<void> SetNicsOf(GpuIndex gpu, double gbps) {
    const std::vector<NicIndex>& nics = cluster_.gpus[gpu].nics;
    if (nics.empty()) {
      return InputError(place_ + ".nicGBps", "no NIC serves GPU " + std::to_string(gpu));
    }
    for (const NicIndex nic : nics) {
      if (cluster_.nics[nic].gpus.size() > 1) {
        return InputError(place_ + ".nicGBps",
                          "GPU " + std::to_string(gpu) + " shares NIC " + std::to_string(nic),
                          "override the NIC: {\"nic\": " + std::to_string(nic) + ", \"GBps\": ..}");
      }
    }
    for (const NicIndex nic : nics) cluster_.nics[nic].gbps = gbps;
    return {};
  }

  Result<void> ApplyToGpu(std::int64_t index, const Override& change) {
    if (Result<void> checked = CheckIndex("gpu", "GPU", index, cluster_.gpus.size()); !checked) {
      return checked;
    }
    const auto gpu = static_cast<GpuIndex>(index);
    if (change.nvlink_gbps) {
      Result<void> set = SetNvlink(cluster_.gpus[gpu].domain, gpu, 1, *change.nvlink_gbps);
      if (!set) return set;
    }
    if (change.nic_gbps) {
      Result<void> set = SetNicsOf(gpu, *change.nic_gbps);
      if (!set) return set;
    }
    if (change.dead) cluster_.gpus[gpu].dead = *change.dead;
    return {};
  }

  Result<void> ApplyToNic(std::int64_t index, const Override& change) {
    if (Result<void> checked = CheckIndex("nic", "NIC", index, cluster_.nics.size()); !checked) {
      return checked;
    }
    cluster_.nics[index].gbps = *change.nic_gbps;
    return {};
  }

  Result<void> ApplyToDomain(std::int64_t index, const Override& change) {
    Result<void> checked = CheckIndex("domain", "domain", index, cluster_.domains.size());
    if (!checked) return checked;
    const Domain& domain = cluster_.domains[index];
    return SetNvlink(static_cast<DomainIndex>(index), domain.first_gpu, domain.gpu_count,
                     *change.nvlink_gbps);
  }

  std::string place_;
  Cluster& cluster_;
};

Result<void> CheckSwitches(const ClusterDescription& description, std::size_t domain_count) {
  const std::vector<Switch>& switches = description.fabric.switches;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    const DomainIndex last = switches[i].domains.back();
    if (std::cmp_less(last, domain_count)) continue;
    return InputError(
        description.place_prefix + "fabric.switches." + std::to_string(i) + ".domains",
        "there is no domain " + std::to_string(last) + " among " + std::to_string(domain_count));
  }
  return {};
}

}  // namespace

Result<Cluster> BuildCluster(const ClusterDescription& description) {
  if (Result<void> checked = CheckSize(description); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  Cluster cluster;
  cluster.fabric = description.fabric;
  for (const DomainEntry& entry : description.entries) {
    for (std::int64_t i = 0; i < entry.count; ++i) {
      AppendDomain(description.types[entry.type], entry.gpu_count, cluster);
    }
  }
  if (Result<void> checked = CheckSwitches(description, cluster.domains.size()); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  for (std::size_t i = 0; i < description.overrides.size(); ++i) {
    OverrideApplier applier(description.place_prefix + "overrides." + std::to_string(i), cluster);
    if (Result<void> applied = applier.Apply(description.overrides[i]); !applied) {
      return tl::unexpected(std::move(applied.error()));
    }
  }
  return cluster;
}

}  // namespace reshard
