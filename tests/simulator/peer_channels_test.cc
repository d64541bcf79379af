#include "simulator/peer_channels.h"

#include <gtest/gtest.h>

#include <utility>

#include "sample_plan.h"
#include "simulator/machine.h"
#include "simulator/simulate.h"

namespace reshard {
namespace {

// 13.5 GB/s a channel: four, the constant, up to 54 GB/s; then 8, 16, 32 and no more.
TEST(PeerChannelsTest, FasterNicsTakeMore) {
  Cluster cluster = SampleCluster(2, 1);
  const Constants constants = DefaultConstants().value();
  cluster.nics[0].gbps = 10;
  for (const auto& [gbps, channels] :
       {std::pair(0.0, 4), {48.0, 4}, {54.0, 4}, {54.1, 8}, {96.0, 8}, {192.0, 16}, {1e9, 32}}) {
    cluster.nics[1].gbps = gbps;
    EXPECT_EQ(ChannelsPerPeer(cluster, constants, 1), channels) << gbps;
  }
  cluster.nics[1].gbps = 96;
  EXPECT_EQ(ChannelsPerPeer(cluster, constants, 0.5), 4);
}

// 8 channels of 13.5 carry 96 GB/s: 96 MB in 1 ms.
TEST(PeerChannelsTest, AFastNicIsNotHeldByItsChannels) {
  Cluster cluster = SampleCluster(2, 1);
  for (Nic& nic : cluster.nics) nic.gbps = 96;
  Constants constants = FreeConstants();
  constants.network_channel_gbps = 13.5;
  const Result<double> seconds =
      SimulateSeconds(SamplePlan(cluster).Send(0, 1, 96'000'000).plan, cluster, constants);
  ASSERT_TRUE(seconds);
  EXPECT_NEAR(*seconds, 1e-3, 2e-9);
}

// Twice the channels a peer, half the operations together: 40 sends of 4 channels are one batch of
// 64, of 8 channels two batches of 32.
TEST(PeerChannelsTest, MoreChannelsAPeerAreFewerOperationsTogether) {
  Constants constants = FreeConstants();
  constants.network_channel_gbps = 13.5;
  constants.batch_us = 10;
  for (const auto& [gbps, batches] : {std::pair(54.0, 0), {96.0, 1}}) {
    Cluster cluster = SampleCluster(41, 1);
    for (Nic& nic : cluster.nics) nic.gbps = gbps;
    SamplePlan sample(cluster);
    for (RankIndex to = 1; to <= 40; ++to) sample.Send(0, to, 4'800'000);
    const Result<double> seconds = SimulateSeconds(sample.plan, cluster, constants);
    ASSERT_TRUE(seconds);
    EXPECT_NEAR(*seconds, 40 * 4.8e6 / (gbps * 1e9) + batches * 10e-6, 50e-9) << gbps;
  }
}

}  // namespace
}  // namespace reshard
