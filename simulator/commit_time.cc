#include "simulator/commit_time.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace reshard {
namespace {

double HopLatencyUs(const Domain& from, const Domain& to) {
  if (&from == &to) return from.nvlink_latency_us;
  return std::max(from.network_latency_us, to.network_latency_us);
}

}  // namespace

double PredictCommitSeconds(const JobRecords& job, const Cluster& cluster,
                            const Constants& constants) {
  std::vector<const Domain*> domains;  // of the destination's ranks
  for (const Rank& rank : job.ranks) {
    if (rank.destination_group == kNoGroup) continue;
    const Gpu& gpu = cluster.gpus[static_cast<std::size_t>(rank.gpu)];
    domains.push_back(&cluster.domains[static_cast<std::size_t>(gpu.domain)]);
  }
  double seconds = 0;
  for (std::size_t distance = 1; distance < domains.size(); distance *= 2) {
    double latency_us = 0;
    for (std::size_t from = 0; from < domains.size(); ++from) {
      const std::size_t to = (from + distance) % domains.size();
      latency_us = std::max(latency_us, HopLatencyUs(*domains[from], *domains[to]));
    }
    seconds += (constants.kernel_launch_us + constants.group_us + latency_us) * 1e-6;
  }
  return seconds;
}

}  // namespace reshard
