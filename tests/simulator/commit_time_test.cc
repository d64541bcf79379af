#include "simulator/commit_time.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace reshard {
namespace {

// Launch 1.5 us and group 8.4 us a round; a hop takes 3.4 us over NVLink, 14 us over the network.
constexpr double kRoundUs = 1.5 + 8.4;

Constants RoundConstants() {
  Constants constants;
  constants.kernel_launch_us = 1.5;
  constants.group_us = 8.4;
  return constants;
}

// Domains of two GPUs each.
Cluster ClusterOf(std::int32_t domain_count) {
  Cluster cluster;
  for (std::int32_t domain = 0; domain < domain_count; ++domain) {
    cluster.domains.push_back({"pair", 2 * domain, 2, 3.4, 14});
    cluster.gpus.resize(cluster.gpus.size() + 2);
    for (std::size_t gpu = cluster.gpus.size() - 2; gpu < cluster.gpus.size(); ++gpu) {
      cluster.gpus[gpu].domain = domain;
    }
  }
  return cluster;
}

// A source rank on GPU 0, then `count` destination ranks on GPUs 0, 1, ..: two a domain.
JobRecords JobOf(std::int32_t count) {
  JobRecords job;
  job.ranks.resize(static_cast<std::size_t>(count) + 1);
  job.ranks[0].source_group = 0;
  for (std::int32_t rank = 0; rank < count; ++rank) {
    Rank& record = job.ranks[static_cast<std::size_t>(rank) + 1];
    record.gpu = rank;
    record.destination_group = 0;
  }
  return job;
}

TEST(PredictCommitSeconds, OneRankHasNobodyToTell) {
  EXPECT_EQ(PredictCommitSeconds(JobOf(1), ClusterOf(1), RoundConstants()), 0);
}

TEST(PredictCommitSeconds, TwoRanksOfOneDomainTakeOneHopOfNvlink) {
  EXPECT_DOUBLE_EQ(PredictCommitSeconds(JobOf(2), ClusterOf(1), RoundConstants()),
                   (kRoundUs + 3.4) * 1e-6);
}

TEST(PredictCommitSeconds, RoundsAreTheLogarithmRoundedUp) {
  // 5 ranks in 3 domains: distances 1, 2, 4, and each round crosses domains somewhere.
  EXPECT_DOUBLE_EQ(PredictCommitSeconds(JobOf(5), ClusterOf(3), RoundConstants()),
                   3 * ((kRoundUs + 14) * 1e-6));
}

TEST(PredictCommitSeconds, TheSlowerEndOfAHopCounts) {
  Cluster cluster = ClusterOf(2);
  cluster.domains[1].network_latency_us = 20;
  // 3 ranks in 2 domains: distances 1 and 2, both across.
  EXPECT_DOUBLE_EQ(PredictCommitSeconds(JobOf(3), cluster, RoundConstants()),
                   2 * ((kRoundUs + 20) * 1e-6));
}

}  // namespace
}  // namespace reshard
