#include "simulator/domain_load.h"

#include <gtest/gtest.h>

#include "sample_plan.h"

namespace reshard {
namespace {

TEST(DomainLoadTest, OnlyNicsOfRanksCount) {
  const Cluster cluster = SampleCluster(2, 2);
  SamplePlan sample(cluster);
  sample.plan.job.ranks.erase(sample.plan.job.ranks.begin() + 1);
  EXPECT_EQ(NicsOfRanks(sample.plan.job.ranks, cluster), (std::vector<NicIndex>{0, 2, 3}));
}

// GPU 0 has two NICs of one rail, which the machine takes for one of 100 GB/s.
TEST(DomainLoadTest, BytesOverWhatTheRatesLetPass) {
  Cluster cluster = SampleCluster(2, 2);
  cluster.gpus[0].nics = {0, 1};
  cluster.gpus[1].nics = {};
  cluster.nics[1] = {0, 0, 0, 50, {0}};
  const SamplePlan sample(cluster);
  const Machine machine(cluster, FreeConstants(), 1, 4);
  FlowTable flows;
  flows.Add(std::vector<ResourceShare>{{machine.NicOut(0), 1}, {machine.NicIn(2), 1}}, kUncapped);
  flows.Add(std::vector<ResourceShare>{{machine.NvlinkOut(1), 1}, {machine.NvlinkIn(0), 1}},
            kUncapped);
  Timeline timeline(flows, machine.capacities().size(), 1000);
  timeline.Add(0, 500, 1500, 40);
  timeline.Add(1, 1000, 2000, 200);
  const std::vector<DomainLoad> loads = DomainLoads(sample.plan, cluster, machine, timeline, 3);
  EXPECT_EQ(loads[0].nic_out, (std::vector<double>{0.2, 0.2, 0}));  // 20,000 of 100,000 bytes
  EXPECT_EQ(loads[1].nic_in, (std::vector<double>{0.2, 0.2, 0}));
  EXPECT_EQ(loads[0].nvlink, (std::vector<double>{0, 0.25, 0}));  // 200,000 of 800,000 bytes
  EXPECT_EQ(loads[1].nvlink, (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(loads[0].nic_in, (std::vector<double>{0, 0, 0}));
}

TEST(DomainLoadTest, ADomainWithoutNicsIsNeverBusy) {
  Cluster cluster = SampleCluster(1, 2);
  for (Gpu& gpu : cluster.gpus) gpu.nics.clear();
  cluster.nics.clear();
  const SamplePlan sample(cluster);
  const Machine machine(cluster, FreeConstants(), 1, 4);
  const FlowTable flows;
  const Timeline timeline(flows, machine.capacities().size(), 1000);
  const std::vector<DomainLoad> loads = DomainLoads(sample.plan, cluster, machine, timeline, 2);
  EXPECT_EQ(loads[0].nic_in, (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace reshard
