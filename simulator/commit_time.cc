#include "simulator/commit_time.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace reshard {
namespace {

class CommitClock {
 public:
  CommitClock(const JobRecords& job, const Cluster& cluster, const Constants& constants)
      : job_(job),
        cluster_(cluster),
        launch_us_(constants.kernel_launch_us),
        group_us_(constants.kernel_launch_us + constants.group_us),
        ready_us_(job.ranks.size()) {}

  // Lets the ranks of a side commit, each when it is ready.
  void Commit(const std::vector<std::size_t>& side) {
    std::vector<double> up_us(side.size());
    std::vector<double> down_us(side.size());
    for (std::size_t i = side.size(); i-- > 0;) {
      const std::size_t first = kCommitTreeChildren * i + 1;
      const std::size_t end = std::min(first + kCommitTreeChildren, side.size());
      up_us[i] = ready_us_[side[i]] + (first < end ? group_us_ : 0);
      for (std::size_t child = first; child < end; ++child) {
        up_us[i] =
            std::max(up_us[i], up_us[child] + group_us_ + HopLatencyUs(side[child], side[i]));
      }
      up_us[i] += launch_us_;  // the sum over the children
    }
    for (std::size_t i = 0; i < side.size(); ++i) {
      down_us[i] = up_us[i];
      if (i > 0) {
        const std::size_t parent = (i - 1) / kCommitTreeChildren;
        const double hop_us = HopLatencyUs(side[parent], side[i]);
        down_us[i] = down_us[parent] + group_us_ + hop_us;
        ready_us_[side[parent]] = std::max(ready_us_[side[parent]], down_us[i]);
      }
      down_us[i] += launch_us_;  // the verdict is taken in
      ready_us_[side[i]] = down_us[i];
    }
  }

  // When the last rank has published.
  double EndUs() const {
    return ready_us_.empty() ? 0 : *std::ranges::max_element(ready_us_) + launch_us_;
  }

 private:
  const Domain& DomainOf(std::size_t rank) const {
    const Gpu& gpu = cluster_.gpus[static_cast<std::size_t>(job_.ranks[rank].gpu)];
    return cluster_.domains[static_cast<std::size_t>(gpu.domain)];
  }

  double HopLatencyUs(std::size_t from, std::size_t to) const {
    const Domain& left = DomainOf(from);
    const Domain& right = DomainOf(to);
    if (&left == &right) return left.nvlink_latency_us;
    return std::max(left.network_latency_us, right.network_latency_us);
  }

  const JobRecords& job_;
  const Cluster& cluster_;
  const double launch_us_;  // of a kernel
  const double group_us_;   // of an NCCL group, its kernel's launch included
  std::vector<double> ready_us_;
};

}  // namespace

double PredictCommitSeconds(const JobRecords& job, const Cluster& cluster,
                            const Constants& constants) {
  CommitClock clock(job, cluster, constants);
  for (const auto group : {&Rank::source_group, &Rank::destination_group}) {
    std::vector<std::size_t> side;
    for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
      if (job.ranks[rank].*group != kNoGroup) side.push_back(rank);
    }
    clock.Commit(side);
  }
  return clock.EndUs() * 1e-6;
}

}  // namespace reshard
