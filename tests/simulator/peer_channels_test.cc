#include "simulator/peer_channels.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "sample_plan.h"
#include "simulator/simulate.h"

namespace reshard {
namespace {

// What the plan says, but never more than there are; all of them inside one domain, where NCCL
// knows no network peers, and where the plan says nothing.
TEST(PeerChannelsTest, AsThePlanSays) {
  const Constants constants = FreeConstants();
  SamplePlan across(SampleCluster(2, 2));
  for (const auto& [hinted, channels] : {std::pair(1, 1), {4, 4}, {16, 16}, {64, 32}, {0, 32}}) {
    across.plan.channels.channels_per_net_peer = hinted;
    EXPECT_EQ(ChannelsPerPeer(across.plan, constants), channels) << hinted;
  }
  SamplePlan inside(SampleCluster(1, 4));
  inside.plan.channels.channels_per_net_peer = 4;
  EXPECT_EQ(ChannelsPerPeer(inside.plan, constants), 32);
}

// 8 channels of 13.5 carry 96 GB/s: 96 MB in 1 ms. 4 carry 54 of them: 1.778 ms.
TEST(PeerChannelsTest, AFastNicIsHeldByFewChannels) {
  Cluster cluster = SampleCluster(2, 1);
  for (Nic& nic : cluster.nics) nic.gbps = 96;
  Constants constants = FreeConstants();
  constants.network_channel_gbps = 13.5;
  for (const auto& [channels, gbps] : {std::pair(8, 96.0), {4, 54.0}, {1, 13.5}}) {
    SamplePlan sample(cluster);
    sample.Send(0, 1, 96'000'000).plan.channels.channels_per_net_peer = channels;
    const Result<double> seconds = SimulateSeconds(sample.plan, cluster, constants);
    ASSERT_TRUE(seconds);
    EXPECT_NEAR(*seconds, 96e6 / (gbps * 1e9), 2e-9) << channels;
  }
}

// Twice the channels a peer, half the operations together: of 32 channels that carry 8 operations
// each, 40 sends of 4 channels are one batch of 64, of 8 channels two batches of 32.
TEST(PeerChannelsTest, MoreChannelsAPeerAreFewerOperationsTogether) {
  Constants constants = FreeConstants();
  constants.batch_us = 10;
  const Cluster cluster = SampleCluster(41, 1);
  for (const auto& [channels, batches] : {std::pair(4, 0), {8, 1}, {32, 4}}) {
    SamplePlan sample(cluster);
    for (RankIndex to = 1; to <= 40; ++to) sample.Send(0, to, 4'800'000);
    sample.plan.channels.channels_per_net_peer = channels;
    EXPECT_EQ(OperationsTogether(channels, constants), 8 * 32 / channels);
    const Result<double> seconds = SimulateSeconds(sample.plan, cluster, constants);
    ASSERT_TRUE(seconds);
    EXPECT_NEAR(*seconds, 40 * 4.8e6 / 50e9 + batches * 10e-6, 50e-9) << channels;
  }
}

}  // namespace
}  // namespace reshard
