#include <gtest/gtest.h>

#include <vector>

#include "schedules/verifier.h"
#include "tests/schedules/plan_damage.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

// The small plan has five ranks, and of these the one with most has two peers.
std::vector<Damage> ChannelDamages() {
  return {
      {"few_peers", [](Plan& p) { p.channels.max_p2p_peers = 1; },
       "channel hints: NCCL would be told of 1 peers at most, a rank has 2 (promise 5)"},
      {"negative_peers", [](Plan& p) { p.channels.max_p2p_peers = -1; },
       "channel hints: NCCL would be told of -1 peers at most"},
      {"many_peers", [](Plan& p) { p.channels.max_p2p_peers = 1 << 30; },
       "channel hints: 1073741824 peers among"},
      {"no_power", [](Plan& p) { p.channels.channels_per_net_peer = 6; },
       "channel hints: 6 channels per network peer: NCCL knows powers of two up to 64"},
      {"negative_channels", [](Plan& p) { p.channels.channels_per_net_peer = -4; },
       "channel hints: -4 channels"},
      {"many_channels", [](Plan& p) { p.channels.channels_per_net_peer = 128; },
       "channel hints: 128 channels"},
  };
}

INSTANTIATE_TEST_SUITE_P(Channels, DamageTest, ::testing::ValuesIn(ChannelDamages()), NameOf);

// From the true number of peers to that of the ranks, which NCCL takes by itself; or nothing.
TEST(VerifyChannelsTest, WhatNcclMayBeTold) {
  Plan plan = SmallPlan();
  const auto ranks = static_cast<std::int64_t>(plan.job.ranks.size());
  for (const std::int64_t peers : {std::int64_t{0}, std::int64_t{2}, ranks}) {
    for (const std::int64_t channels : {0, 1, 2, 4, 64}) {
      plan.channels = {peers, channels};
      const auto verified = Verify(plan);
      EXPECT_TRUE(verified.has_value()) << ToString(verified.error());
    }
  }
}

}  // namespace
}  // namespace reshard
