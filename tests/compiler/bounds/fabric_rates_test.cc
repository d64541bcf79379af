#include "compiler/bounds/fabric_rates.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

// Three domains of two GPUs with a NIC each, on rails 0 and 1: 50 and 50, 50 and 10, 20 and 0 GB/s.
Cluster UnevenRails(RailCrossing crossing, double oversubscription = 1) {
  std::vector<TestDomain> domains(3, UniformDomain(2, 400, 50));
  domains[1].nics[1].gbps = 10;
  domains[2].nics[0].gbps = 20;
  domains[2].nics[1].gbps = 0;
  Cluster cluster = MakeTestCluster(domains);
  cluster.fabric.rail_crossing = crossing;
  cluster.fabric.spine_oversubscription = oversubscription;
  return cluster;
}

JobRecords AllGpus(const Cluster& cluster) {
  JobRecords job;
  for (std::size_t g = 0; g < cluster.gpus.size(); ++g) {
    Rank rank;
    rank.gpu = static_cast<std::int32_t>(g);
    rank.domain = cluster.gpus[g].domain;
    job.ranks.push_back(rank);
  }
  return job;
}

constexpr std::array<DomainIndex, 1> kFirst{0};
constexpr std::array<DomainIndex, 1> kLast{2};
constexpr std::array<DomainIndex, 2> kFirstTwo{0, 1};

TEST(FabricRatesTest, NicsAloneCountWhereRailsMeet) {
  const Cluster cluster = UnevenRails(RailCrossing::kFull);
  const FabricRates rates(AllGpus(cluster), cluster);
  EXPECT_DOUBLE_EQ(rates.Into(kFirst), 100);
  EXPECT_DOUBLE_EQ(rates.OutOf(kLast), 20);
  EXPECT_DOUBLE_EQ(rates.OutOf(kFirstTwo), 160);
}

// Into domain 0: on rail 0 min(50, 50 + 20), on rail 1 min(50, 10 + 0).
// Out of domain 2: min(20, 100) and min(0, 60). Out of 0 and 1: min(100, 20) and min(60, 0).
TEST(FabricRatesTest, RailsThatDoNotMeet) {
  const Cluster cluster = UnevenRails(RailCrossing::kNone);
  const FabricRates rates(AllGpus(cluster), cluster);
  EXPECT_DOUBLE_EQ(rates.Into(kFirst), 50 + 10);
  EXPECT_DOUBLE_EQ(rates.OutOf(kLast), 20);
  EXPECT_DOUBLE_EQ(rates.OutOf(kFirstTwo), 20);
}

// All NICs: 120 on rail 0, 60 on rail 1; a tenth may cross: 12 and 6. Into domain 0 from 70 and 10:
//   arriving            min(50, 70 + 12) + min(50, 10 + 6)      = 66
//   leaving             min(70, 50 + 12) + min(10, 50 + 6)      = 72
//   staying + crossing  min(70, 50) + 12 + min(10, 50) + 6      = 78
TEST(FabricRatesTest, WhatASpineLetsCross) {
  const Cluster cluster = UnevenRails(RailCrossing::kSpine, 10);
  const FabricRates rates(AllGpus(cluster), cluster);
  EXPECT_DOUBLE_EQ(rates.Into(kFirst), 66);
}

TEST(FabricRatesTest, NicsThatServeNoRankSendNothing) {
  const Cluster cluster = UnevenRails(RailCrossing::kNone);
  JobRecords job = AllGpus(cluster);
  job.ranks.erase(job.ranks.begin() + 3);  // GPU 3: domain 1's NIC on rail 1
  EXPECT_DOUBLE_EQ(FabricRates(job, cluster).Into(kFirst), 50);
}

TEST(FabricRatesTest, SwitchesCountAllNicsUnderThemAtTheShareOfTheJob) {
  Cluster cluster = UnevenRails(RailCrossing::kFull);
  cluster.fabric.switches = {{{0, 2}, 4}};
  JobRecords job = AllGpus(cluster);
  job.options.nic_share = 0.5;
  const FabricRates rates(job, cluster);
  ASSERT_EQ(rates.switches().size(), 1u);
  EXPECT_DOUBLE_EQ(rates.switches()[0].gbps, (50 + 50 + 20) / 4.0 / 2);
  EXPECT_DOUBLE_EQ(rates.Into(kFirst), 50);
}

}  // namespace
}  // namespace reshard
