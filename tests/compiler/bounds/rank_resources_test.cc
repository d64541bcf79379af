#include "compiler/bounds/rank_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JobRecords RanksOn(const std::vector<std::int32_t>& gpus) {
  JobRecords job;
  for (const std::int32_t gpu : gpus) {
    Rank rank;
    rank.gpu = gpu;
    job.ranks.push_back(rank);
  }
  return job;
}

TEST(RankResources, OneNicEach) {
  const RankResources resources =
      MakeRankResources(RanksOn({0, 1, 2, 3}), UniformCluster(2, 2, 400, 50)).value();
  EXPECT_THAT(resources.nvlink_gbps, ElementsAre(400, 400, 400, 400));
  EXPECT_THAT(resources.network_gbps, ElementsAre(50, 50, 50, 50));
  EXPECT_THAT(resources.network_peak_gbps, ElementsAre(50, 50, 50, 50));
  EXPECT_THAT(resources.domain, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(resources.rail, ElementsAre(0, 1, 0, 1));
  ASSERT_EQ(resources.domains.size(), 2U);
  EXPECT_THAT(resources.domains[1].ranks, ElementsAre(2, 3));
  EXPECT_EQ(resources.domains[1].network_gbps, 100);
  EXPECT_EQ(resources.domains[1].nic_count, 2);
}

TEST(RankResources, OnlyTheNicsOfRanksCount) {
  const RankResources resources =
      MakeRankResources(RanksOn({1, 5}), UniformCluster(3, 2, 400, 50)).value();
  EXPECT_EQ(resources.domains[0].network_gbps, 50);
  EXPECT_THAT(resources.domains[1].ranks, IsEmpty());
  EXPECT_EQ(resources.domains[1].network_gbps, 0);
  EXPECT_EQ(resources.domains[1].nic_count, 0);
  EXPECT_THAT(resources.domains[2].ranks, ElementsAre(1));
}

TEST(RankResources, TheShareOfNicsDoesNotTouchNvlink) {
  JobRecords job = RanksOn({0, 1});
  job.options.nic_share = 0.25;
  const RankResources resources = MakeRankResources(job, UniformCluster(1, 2, 400, 48)).value();
  EXPECT_THAT(resources.nvlink_gbps, ElementsAre(400, 400));
  EXPECT_THAT(resources.network_gbps, ElementsAre(12, 12));
  EXPECT_EQ(resources.domains[0].network_gbps, 24);
}

// GPUs 0 and 1 share a NIC of 50, GPU 1 has one of 20 besides, GPU 2 has none, GPU 3 one that is
// out of service.
std::vector<TestDomain> OddDomains() {
  return {{4, 400, {{{0, 1}, 50, 0}, {{1}, 20, 1}, {{3}, 0, 2}}}};
}

TEST(RankResources, ASharedNicIsDividedAmongItsRanks) {
  const Cluster cluster = MakeTestCluster(OddDomains());
  const RankResources resources = MakeRankResources(RanksOn({0, 1, 2, 3}), cluster).value();
  EXPECT_THAT(resources.network_gbps, ElementsAre(25, 45, 0, 0));
  EXPECT_THAT(resources.network_peak_gbps, ElementsAre(50, 70, 0, 0));
  EXPECT_THAT(resources.rail, ElementsAre(0, 0, -1, 2));
  EXPECT_EQ(resources.domains[0].network_gbps, 70);
  EXPECT_EQ(resources.domains[0].nic_count, 2);
}

TEST(RankResources, ASharedNicIsWhollyTheOnlyRanks) {
  const Cluster cluster = MakeTestCluster(OddDomains());
  const RankResources resources = MakeRankResources(RanksOn({0, 2}), cluster).value();
  EXPECT_THAT(resources.network_gbps, ElementsAre(50, 0));
  EXPECT_EQ(resources.domains[0].network_gbps, 50);
  EXPECT_EQ(resources.domains[0].nic_count, 1);
}

TEST(RankResources, RefusesAGpuThatIsNotThere) {
  for (const std::int32_t gpu : {-1, 4}) {
    const Result<RankResources> resources =
        MakeRankResources(RanksOn({gpu}), UniformCluster(2, 2, 400, 50));
    ASSERT_FALSE(resources);
    EXPECT_EQ(resources.error().fault, Fault::kInput);
    EXPECT_THAT(ToString(resources.error()), HasSubstr("GPU " + std::to_string(gpu)));
  }
}

}  // namespace
}  // namespace reshard
