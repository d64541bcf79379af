#include "simulator/commit_time.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/commit_kernels.h"

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

static_assert(kCommitTreeChildren == kCommitChildren, "the tree is the runtime's");

TEST(PredictCommitSeconds, OneRankSumsUpTakesInAndPublishes) {
  EXPECT_DOUBLE_EQ(PredictCommitSeconds(JobOf(1), ClusterOf(1), RoundConstants()), 3 * 1.5e-6);
}

TEST(PredictCommitSeconds, TwoRanksOfOneDomainTellUpAndDown) {
  // The child sums up (1.5), sends (a round and 3.4); the parent sums up and takes in (2 x 1.5),
  // sends (a round and 3.4); the child takes in and publishes (2 x 1.5).
  EXPECT_NEAR(PredictCommitSeconds(JobOf(2), ClusterOf(1), RoundConstants()),
              (5 * 1.5 + 2 * (kRoundUs + 3.4)) * 1e-6, 1e-12);
}

TEST(PredictCommitSeconds, NineRanksAreOneHopDeepAndTenAreTwo) {
  // Nine: ranks 1 .. 8 are children of 0, up and down across domains. Ten: the tenth is the child
  // of rank 1, in the next domain but three, so that each way has two hops, and one kernel more.
  EXPECT_NEAR(PredictCommitSeconds(JobOf(9), ClusterOf(5), RoundConstants()),
              (5 * 1.5 + 2 * (kRoundUs + 14)) * 1e-6, 1e-12);
  // Rank 1 sits beside rank 0: a hop of NVLink, and one of the network from rank 9 to it. Each way:
  EXPECT_NEAR(PredictCommitSeconds(JobOf(10), ClusterOf(5), RoundConstants()),
              (7 * 1.5 + 2 * (2 * kRoundUs + 3.4 + 14)) * 1e-6, 1e-12);
}

TEST(PredictCommitSeconds, TheSlowerEndOfAHopCounts) {
  Cluster cluster = ClusterOf(2);
  cluster.domains[1].network_latency_us = 20;
  // Three ranks in two domains: the third tells the first, in the other domain.
  EXPECT_NEAR(PredictCommitSeconds(JobOf(3), cluster, RoundConstants()),
              (5 * 1.5 + 2 * (kRoundUs + 20)) * 1e-6, 1e-12);
}

TEST(PredictCommitSeconds, SidesOfTheSameRanksFollowEachOther) {
  JobRecords both = JobOf(2);
  both.ranks.erase(both.ranks.begin());
  for (Rank& rank : both.ranks) rank.source_group = 0;
  // As two ranks of one side, twice; published once, by when the root has sent its verdict.
  EXPECT_NEAR(PredictCommitSeconds(both, ClusterOf(1), RoundConstants()),
              (9 * 1.5 + 4 * (kRoundUs + 3.4)) * 1e-6, 1e-12);
}

}  // namespace
}  // namespace reshard
