#include "simulator/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "sample_plan.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

// The shares of a path by resource.
std::map<ResourceIndex, double> SharesOf(const Result<FlowPath>& path) {
  std::map<ResourceIndex, double> shares;
  if (!path) {
    ADD_FAILURE() << ToString(path.error());
    return shares;
  }
  for (const ResourceShare& use : path->shares) shares[use.resource] = use.share;
  return shares;
}

using Shares = std::map<ResourceIndex, double>;

TEST(MachineTest, NvlinkInsideADomainNicsBetween) {
  Cluster cluster = SampleCluster(2, 2);
  cluster.domains[0].nvlink_latency_us = 3.4;
  cluster.domains[0].network_latency_us = 12;
  cluster.domains[1].network_latency_us = 14;
  const Machine machine(cluster, FreeConstants(), 1, 4);
  const Result<FlowPath> inside = machine.PathBetween(0, 1);
  EXPECT_EQ(SharesOf(inside), (Shares{{machine.NvlinkOut(0), 1}, {machine.NvlinkIn(1), 1}}));
  EXPECT_EQ(inside->latency, 3400);
  EXPECT_EQ(inside->cap_gbps, kUncapped);
  const Result<FlowPath> between = machine.PathBetween(1, 2);
  EXPECT_EQ(SharesOf(between), (Shares{{machine.NicOut(1), 1}, {machine.NicIn(2), 1}}));
  EXPECT_EQ(between->latency, 14000);  // the slower end's
  EXPECT_EQ(SharesOf(machine.CopyPath(3)), (Shares{{machine.Hbm(3), 2}}));
}

// NICs of 50 and 30 that serve GPU 0 alone are one resource of 80, 5/8 of it the first.
TEST(MachineTest, NicsOfOneGpuAddUp) {
  Cluster cluster = SampleCluster(2, 1);
  cluster.nics.push_back({0, 0, 0, 30, {0}});
  cluster.gpus[0].nics = {0, 2};
  const Machine machine(cluster, FreeConstants(), 1, 4);
  EXPECT_EQ(machine.NicOut(0), machine.NicOut(2));
  EXPECT_EQ(machine.capacities()[static_cast<std::size_t>(machine.NicOut(0))], 80);
  EXPECT_EQ(machine.NicPart(0), 0.625);
  EXPECT_EQ(SharesOf(machine.PathBetween(0, 1)),
            (Shares{{machine.NicOut(0), 1}, {machine.NicIn(1), 1}}));
}

// GPUs 0 and 1 share one NIC: both paths use it.
TEST(MachineTest, ANicMayServeSeveralGpus) {
  Cluster cluster = SampleCluster(2, 2);
  cluster.nics[0].gpus = {0, 1};
  cluster.nics[1].gpus = {2};
  cluster.nics[2].gpus = {3};
  cluster.nics.pop_back();
  for (int gpu = 0; gpu < 4; ++gpu) {
    cluster.gpus[static_cast<std::size_t>(gpu)].nics = {std::max(gpu - 1, 0)};
  }
  const Machine machine(cluster, FreeConstants(), 1, 4);
  EXPECT_EQ(SharesOf(machine.PathBetween(0, 2)),
            (Shares{{machine.NicOut(0), 1}, {machine.NicIn(1), 1}}));
  EXPECT_EQ(SharesOf(machine.PathBetween(1, 3)),
            (Shares{{machine.NicOut(0), 1}, {machine.NicIn(2), 1}}));
}

// GPU 0 has NIC 0 (50) alone and half of NIC 4 (50, shared with GPU 1): 2/3 and 1/3 of its bytes.
TEST(MachineTest, AGpuSplitsItsBytesOverItsPartsOfNics) {
  Cluster cluster = SampleCluster(2, 2);
  cluster.nics.push_back({0, 0, 7, 50, {0, 1}});
  cluster.gpus[0].nics = {0, 4};
  cluster.gpus[1].nics = {1, 4};
  const Machine machine(cluster, FreeConstants(), 1, 4);
  const Shares shares = SharesOf(machine.PathBetween(0, 2));
  EXPECT_DOUBLE_EQ(shares.at(machine.NicOut(0)), 2.0 / 3);
  EXPECT_DOUBLE_EQ(shares.at(machine.NicOut(4)), 1.0 / 3);
  EXPECT_DOUBLE_EQ(shares.at(machine.NicIn(2)), 1);
}

TEST(MachineTest, NicShareScalesNicsAndFabricOnly) {
  Cluster cluster = SampleCluster(2, 2);
  cluster.fabric.rail_crossing = RailCrossing::kSpine;
  cluster.fabric.spine_oversubscription = 2;
  cluster.fabric.switches.push_back({{0}, 4});
  const Machine machine(cluster, FreeConstants(), 0.5, 4);
  const auto rate = [&](ResourceIndex r) {
    return machine.capacities()[static_cast<std::size_t>(r)];
  };
  EXPECT_EQ(rate(machine.NicOut(0)), 25);
  EXPECT_EQ(rate(machine.NvlinkIn(0)), 400);
  EXPECT_EQ(rate(machine.Hbm(0)), 1000);
  EXPECT_EQ(machine.FabricName(machine.first_fabric()), "rail 0 to other rails");
  EXPECT_EQ(rate(machine.first_fabric()), 25);  // two NICs of 25 on the rail, over 2
  EXPECT_EQ(machine.FabricName(machine.first_fabric() + 3), "rail 1 from other rails");
  EXPECT_EQ(machine.FabricName(machine.first_fabric() + 4), "switch 0 egress");
  EXPECT_EQ(rate(machine.first_fabric() + 4), 12.5);  // two NICs of 25 in domain 0, over 4
}

// GPU 0 and 2 are on rail 0, GPU 3 on rail 1: only 0 -> 3 crosses.
TEST(MachineTest, OnlyWhatCrossesRailsUsesTheSpine) {
  Cluster cluster = SampleCluster(2, 2);
  cluster.fabric.rail_crossing = RailCrossing::kSpine;
  const Machine machine(cluster, FreeConstants(), 1, 4);
  const ResourceIndex spine = machine.first_fabric();
  EXPECT_EQ(SharesOf(machine.PathBetween(0, 2)),
            (Shares{{machine.NicOut(0), 1}, {machine.NicIn(2), 1}}));
  EXPECT_EQ(SharesOf(machine.PathBetween(0, 3)),
            (Shares{{machine.NicOut(0), 1}, {machine.NicIn(3), 1}, {spine, 1}, {spine + 3, 1}}));
}

// GPU 0 has NICs on rails 0 and 1, GPU 2 on rail 0 only: half of the bytes cross from rail 1 to 0.
TEST(MachineTest, APartMayCross) {
  Cluster cluster = SampleCluster(2, 2);
  cluster.fabric.rail_crossing = RailCrossing::kSpine;
  cluster.nics.push_back({0, 0, 1, 50, {0}});
  cluster.gpus[0].nics = {0, 4};
  const Machine machine(cluster, FreeConstants(), 1, 4);
  const ResourceIndex spine = machine.first_fabric();
  EXPECT_EQ(SharesOf(machine.PathBetween(0, 2)), (Shares{{machine.NicOut(0), 0.5},
                                                         {machine.NicOut(4), 0.5},
                                                         {machine.NicIn(2), 1},
                                                         {spine + 2, 0.5},
                                                         {spine + 1, 0.5}}));
  cluster.fabric.rail_crossing = RailCrossing::kNone;
  const Machine rails_apart(cluster, FreeConstants(), 1, 4);
  EXPECT_EQ(SharesOf(rails_apart.PathBetween(0, 2)),
            (Shares{{rails_apart.NicOut(0), 1}, {rails_apart.NicIn(2), 1}}));
}

TEST(MachineTest, SwitchesLimitWhatLeavesAndEnters) {
  Cluster cluster = SampleCluster(3, 1);
  cluster.fabric.switches = {{{0, 1}, 2}, {{2}, 1}};
  const Machine machine(cluster, FreeConstants(), 1, 4);
  const ResourceIndex first = machine.first_fabric();
  EXPECT_EQ(SharesOf(machine.PathBetween(0, 1)),
            (Shares{{machine.NicOut(0), 1}, {machine.NicIn(1), 1}}));
  EXPECT_EQ(SharesOf(machine.PathBetween(0, 2)),
            (Shares{{machine.NicOut(0), 1}, {machine.NicIn(2), 1}, {first, 1}, {first + 3, 1}}));
  EXPECT_EQ(
      SharesOf(machine.PathBetween(2, 1)),
      (Shares{{machine.NicOut(2), 1}, {machine.NicIn(1), 1}, {first + 2, 1}, {first + 1, 1}}));
}

// 4 channels of 12 hold a peer to 48: a cap on a GPU of 100, none on one of 40.
TEST(MachineTest, ChannelsCapWhereTheyBind) {
  Cluster cluster = SampleCluster(2, 1);
  Constants constants = FreeConstants();
  constants.network_channel_gbps = 12;
  for (Nic& nic : cluster.nics) nic.gbps = 40;
  EXPECT_EQ(Machine(cluster, constants, 1, 4).PathBetween(0, 1)->cap_gbps, kUncapped);
  for (Nic& nic : cluster.nics) nic.gbps = 100;
  EXPECT_EQ(Machine(cluster, constants, 1, 4).PathBetween(0, 1)->cap_gbps, 48);
}

// A peer's 4 channels of a tenth of the slower end's NVLink: 0.4 * 300. All 32 do not bind.
TEST(MachineTest, ChannelsCapAnNvlinkPeer) {
  Cluster cluster = SampleCluster(1, 2);
  cluster.gpus[1].nvlink_gbps = 300;
  Constants constants = FreeConstants();
  constants.nvlink_channel_share = 0.1;
  EXPECT_DOUBLE_EQ(Machine(cluster, constants, 1, 4).PathBetween(0, 1)->cap_gbps, 120);
  EXPECT_EQ(Machine(cluster, constants, 1, 32).PathBetween(0, 1)->cap_gbps, kUncapped);
}

// GPU 0 sends to the rail of GPU 3, the second of its node: over NVLink to GPU 1, the second of the
// sender's node, and out by its NIC, one NVLink hop later. Not where GPU 1 is no rank, nor for what
// does not go by a peer's channels, nor to a GPU of its own rail.
TEST(MachineTest, WhatCrossesRailsLeavesByARelay) {
  Cluster cluster = SampleCluster(2, 2);
  for (Domain& domain : cluster.domains) {
    domain.nvlink_latency_us = 3.4;
    domain.network_latency_us = 14;
  }
  const std::vector<GpuIndex> ranks{0, 1, 2, 3};
  const Machine machine(cluster, FreeConstants(), 1, 4, ranks);
  const Shares by_relay{{machine.NvlinkOut(0), 1},
                        {machine.NvlinkIn(1), 1},
                        {machine.NicOut(1), 1},
                        {machine.NicIn(3), 1}};
  const Shares straight{{machine.NicOut(0), 1}, {machine.NicIn(3), 1}};
  EXPECT_EQ(SharesOf(machine.PathBetween(0, 3)), by_relay);
  EXPECT_EQ(machine.PathBetween(0, 3)->latency, 17400);
  EXPECT_EQ(SharesOf(machine.PathBetween(0, 3, Carrier::kAllChannels)), straight);
  EXPECT_EQ(SharesOf(machine.PathBetween(0, 2)),
            (Shares{{machine.NicOut(0), 1}, {machine.NicIn(2), 1}}));
  EXPECT_EQ(machine.PathBetween(0, 2)->latency, 14000);
  const std::vector<GpuIndex> others{0, 2, 3};
  EXPECT_EQ(SharesOf(Machine(cluster, FreeConstants(), 1, 4, others).PathBetween(0, 3)), straight);
  EXPECT_EQ(SharesOf(Machine(cluster, FreeConstants(), 1, 4).PathBetween(0, 3)), straight);
  cluster.gpus[1].nvlink_gbps = 0;
  EXPECT_EQ(SharesOf(Machine(cluster, FreeConstants(), 1, 4, ranks).PathBetween(0, 3)), straight);
}

// What a relay carries never crosses between rails: it needs no spine, nor rails that meet.
TEST(MachineTest, ARelayKeepsBytesOnTheirRail) {
  Cluster cluster = SampleCluster(2, 2);
  const std::vector<GpuIndex> ranks{0, 1, 2, 3};
  for (const RailCrossing crossing : {RailCrossing::kSpine, RailCrossing::kNone}) {
    cluster.fabric.rail_crossing = crossing;
    const Machine machine(cluster, FreeConstants(), 1, 4, ranks);
    EXPECT_EQ(SharesOf(machine.PathBetween(0, 3)), (Shares{{machine.NvlinkOut(0), 1},
                                                           {machine.NvlinkIn(1), 1},
                                                           {machine.NicOut(1), 1},
                                                           {machine.NicIn(3), 1}}));
  }
}

TEST(MachineTest, BytesWithoutAWayAreErrorsThatNameTheGpu) {
  const auto error = [](const Cluster& cluster, GpuIndex from, GpuIndex to) {
    const Result<FlowPath> path = Machine(cluster, FreeConstants(), 1, 4).PathBetween(from, to);
    return path ? std::string("none") : ToString(path.error());
  };
  Cluster cluster = SampleCluster(2, 2);
  cluster.nics[3].gbps = 0;
  EXPECT_THAT(error(cluster, 0, 3), HasSubstr("cluster: GPU 3: has no NIC with a rate above 0"));
  EXPECT_THAT(error(cluster, 3, 0), HasSubstr("cluster: GPU 3: has no NIC with a rate above 0"));
  EXPECT_EQ(error(cluster, 3, 2), "none");
  cluster.gpus[2].nvlink_gbps = 0;
  EXPECT_THAT(error(cluster, 3, 2), HasSubstr("cluster: GPU 2: has no NVLink (0 GB/s)"));
  cluster.fabric.rail_crossing = RailCrossing::kNone;
  EXPECT_THAT(error(cluster, 1, 2), HasSubstr("GPU 1 and GPU 2 share no rail"));
  cluster.gpus[1].hbm_gbps = 0;
  const Result<FlowPath> copy = Machine(cluster, FreeConstants(), 1, 4).CopyPath(1);
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().place, "cluster: GPU 1");
}

}  // namespace
}  // namespace reshard
