#include "compiler/bounds/rank_resources.h"

#include <string>

namespace reshard {

Result<RankResources> MakeRankResources(const JobRecords& job, const Cluster& cluster) {
  RankResources resources;
  resources.rails_meet = cluster.fabric.rail_crossing == RailCrossing::kFull;
  resources.domains.resize(cluster.domains.size());
  std::vector<RankIndex> rank_of_gpu(cluster.gpus.size(), -1);
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    const std::int32_t gpu = job.ranks[r].gpu;
    if (gpu < 0 || static_cast<std::size_t>(gpu) >= cluster.gpus.size()) {
      return InputError("rank " + std::to_string(r), "GPU " + std::to_string(gpu) +
                                                         " is not in the cluster of " +
                                                         std::to_string(cluster.gpus.size()));
    }
    rank_of_gpu[static_cast<std::size_t>(gpu)] = static_cast<RankIndex>(r);
  }
  const double share = job.options.nic_share;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    const Gpu& gpu = cluster.gpus[static_cast<std::size_t>(job.ranks[r].gpu)];
    double network = 0;
    double peak = 0;
    for (const NicIndex n : gpu.nics) {
      const Nic& nic = cluster.nics[static_cast<std::size_t>(n)];
      std::int64_t sharers = 0;
      for (const GpuIndex other : nic.gpus) {
        if (rank_of_gpu[static_cast<std::size_t>(other)] >= 0) ++sharers;
      }
      network += nic.gbps * share / static_cast<double>(sharers);
      peak += nic.gbps * share;
    }
    resources.nvlink_gbps.push_back(gpu.nvlink_gbps);
    resources.network_gbps.push_back(network);
    resources.network_peak_gbps.push_back(peak);
    resources.domain.push_back(gpu.domain);
    resources.rail.push_back(
        gpu.nics.empty() ? -1 : cluster.nics[static_cast<std::size_t>(gpu.nics[0])].rail);
    resources.domains[static_cast<std::size_t>(gpu.domain)].ranks.push_back(
        static_cast<RankIndex>(r));
  }
  for (const Nic& nic : cluster.nics) {
    for (const GpuIndex gpu : nic.gpus) {
      if (rank_of_gpu[static_cast<std::size_t>(gpu)] < 0 || nic.gbps <= 0) continue;
      DomainResources& domain = resources.domains[static_cast<std::size_t>(nic.domain)];
      domain.network_gbps += nic.gbps * share;
      ++domain.nic_count;
      break;
    }
  }
  return resources;
}

}  // namespace reshard
