#include "simulator/message.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "sample_plan.h"
#include "simulator/simulate.h"

namespace reshard {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

Constants StepConstants() {
  Constants constants = FreeConstants();
  constants.network_step_kib = 128;
  constants.nvlink_step_kib = 512;
  return constants;
}

MessageRules RulesOf(const SamplePlan& sample, std::int64_t channels, std::int64_t peers,
                     const Constants& constants) {
  Plan plan = sample.plan;
  plan.channels.max_p2p_peers = peers;
  return {plan, constants, channels};
}

// Several domains: parts of 64 to 128 KiB. Where 32 channels are enough for 4 of each of 8 peers, a
// channel for each 64 KiB begun; with 9 peers it begins at 2, with 32 at 1, and doubles beyond 128
// KiB a channel.
TEST(MessageTest, LongMessagesTakeMoreChannels) {
  const SamplePlan sample(SampleCluster(2, 2));
  const MessageRules few = RulesOf(sample, 4, 8, StepConstants());
  for (const auto& [kib, channels] :
       {std::pair(1, 1), {64, 1}, {65, 2}, {128, 2}, {129, 3}, {193, 4}, {4096, 4}}) {
    EXPECT_EQ(few.Channels(kib * kKiB), channels) << kib;
  }
  EXPECT_EQ(few.long_bytes(), 192 * kKiB + 1);
  const MessageRules nine = RulesOf(sample, 4, 9, StepConstants());
  for (const auto& [kib, channels] : {std::pair(64, 1), {65, 2}, {256, 2}, {257, 4}}) {
    EXPECT_EQ(nine.Channels(kib * kKiB), channels) << kib;
  }
  const MessageRules many = RulesOf(sample, 4, 76, StepConstants());
  for (const auto& [kib, channels] :
       {std::pair(1, 1), {128, 1}, {129, 2}, {256, 2}, {257, 4}, {4096, 4}}) {
    EXPECT_EQ(many.Channels(kib * kKiB), channels) << kib;
  }
  EXPECT_EQ(many.long_bytes(), 256 * kKiB + 1);
}

// One domain: 64 KiB to 16 MiB a channel, and 8 ranks leave 4 of 32 channels each.
TEST(MessageTest, InsideOneDomainPartsAreLong) {
  const SamplePlan sample(SampleCluster(1, 8));
  const MessageRules rules = RulesOf(sample, 32, 8, StepConstants());
  for (const auto& [kib, channels] : {std::pair(std::int64_t{64}, 1),
                                      {193, 4},
                                      {64 * 1024, 4},
                                      {64 * 1024 + 1, 8},
                                      {256 * 1024, 16},
                                      {256 * 1024 + 1, 32}}) {
    EXPECT_EQ(rules.Channels(kib * kKiB), channels) << kib;
  }
  EXPECT_EQ(rules.long_bytes(), 256 * kMiB + 1);
}

// 16 KiB for each of four channels.
TEST(MessageTest, ShortMessagesDoubleOnTheWire) {
  Constants constants = StepConstants();
  constants.ll_kib = 16;
  const MessageRules rules = RulesOf(SamplePlan(SampleCluster(2, 2)), 4, 8, constants);
  EXPECT_EQ(rules.WireBytes(64 * kKiB), 128 * kKiB);
  EXPECT_EQ(rules.WireBytes(64 * kKiB + 1), 64 * kKiB + 1);
  constants.ll_kib = 0;
  EXPECT_EQ(RulesOf(SamplePlan(SampleCluster(2, 2)), 4, 8, constants).WireBytes(1), 1);
}

// One message between domains, step 128 KiB, channels of 13.5 GB/s, NICs of 50 GB/s, hop 14 us, LL
// hop a quarter of it:
//   64 KiB by LL: 128 KiB over 1 channel, 9.709 us, and 3.5 us;
//   65 KiB: 2 channels, 66,560 B / 27 GB/s = 2.465 us, and 14 us;
//   1 MiB: 4 channels carry 54, so the NIC's 50 GB/s: 20.972 us, and 14 us.
TEST(MessageTest, ShortMessagesTakeTheirTime) {
  Cluster cluster = SampleCluster(2, 1);
  for (Domain& domain : cluster.domains) domain.network_latency_us = 14;
  Constants constants = StepConstants();
  constants.network_channel_gbps = 13.5;
  constants.ll_kib = 16;
  constants.ll_network_latency_share = 0.25;
  for (const auto& [kib, us] : {std::pair(64, 131072 / 13.5e3 + 3.5),
                                {65, 66560 / 27e3 + 14},
                                {1024, 1048576 / 50e3 + 14}}) {
    SamplePlan sample(cluster);
    sample.Send(0, 1, kib * kKiB);
    const Result<double> seconds = SimulateSeconds(sample.plan, cluster, constants);
    ASSERT_TRUE(seconds);
    EXPECT_NEAR(*seconds, us * 1e-6, 3e-9) << kib;
  }
}

// A short message that shares its link takes as long as that lets it: two of 200 KiB in on a NIC of
// 5 GB/s, 81.92 us, though 4 channels of 13.5 would carry one in 3.8 us.
TEST(MessageTest, ChannelsDoNotSlowWhatTheLinkSlows) {
  Cluster cluster = SampleCluster(3, 1);
  cluster.nics[2].gbps = 5;
  Constants constants = StepConstants();
  constants.network_channel_gbps = 13.5;
  SamplePlan sample(cluster);
  sample.Send(0, 2, 200 * kKiB).Send(1, 2, 200 * kKiB);
  const Result<double> seconds = SimulateSeconds(sample.plan, cluster, constants);
  ASSERT_TRUE(seconds);
  EXPECT_NEAR(*seconds, 2 * 204800 / 5e9, 3e-9);
}

}  // namespace
}  // namespace reshard
