#include "compiler/planning/channel_choice.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace reshard {
namespace {

constexpr ChannelFacts kFacts{13.5, 32, 8};

// `ranks` in two domains, with NICs of `gbps` each.
RankResources Resources(double gbps, int ranks = 2) {
  RankResources resources;
  for (int rank = 0; rank < ranks; ++rank) {
    resources.domain.push_back(rank % 2);
    resources.network_peak_gbps.push_back(gbps);
  }
  return resources;
}

// ceil(gbps / 13.5), rounded up to a power of two: 48 / 13.5 = 3.6, 54.1 / 13.5 = 4.007,
// 192 / 13.5 = 14.2; never more than the 32 there are.
TEST(ChannelChoiceTest, SoManyThatOnePeerFillsTheNics) {
  for (const auto& [gbps, channels] : std::vector<std::pair<double, int>>{{0, 1},
                                                                          {10, 1},
                                                                          {13.5, 1},
                                                                          {24, 2},
                                                                          {48, 4},
                                                                          {54, 4},
                                                                          {54.1, 8},
                                                                          {96, 8},
                                                                          {192, 16},
                                                                          {1e9, 32}}) {
    EXPECT_EQ(ChooseChannelsPerNetPeer(Resources(gbps), kFacts), channels) << gbps;
  }
  RankResources uneven = Resources(10);
  uneven.network_peak_gbps[1] = 96;
  EXPECT_EQ(ChooseChannelsPerNetPeer(uneven, kFacts), 8);
}

TEST(ChannelChoiceTest, NoneInsideADomain) {
  RankResources inside = Resources(48);
  inside.domain = {1, 1};
  EXPECT_EQ(ChooseChannelsPerNetPeer(inside, kFacts), 0);
  EXPECT_EQ(ChannelsByNccl(inside, kFacts), (ChannelHints{2, 0}));
}

// NCCL's rule: halved until perPeer * ceil(ranks / 8) is at most 32. 4 * 8 = 32 at 64 ranks;
// 2 * 16 at 128; from 129 on one channel is left.
TEST(ChannelChoiceTest, NcclHalvesByTheNumberOfRanks) {
  for (const auto& [ranks, channels] :
       {std::pair(2, 4), {64, 4}, {65, 2}, {128, 2}, {129, 1}, {1024, 1}}) {
    EXPECT_EQ(ChannelsByNccl(Resources(48, ranks), kFacts), (ChannelHints{ranks, channels}));
  }
  // It counts on 14 GB/s a channel: 55 / 14 = 3.9 where 55 / 13.5 = 4.1.
  EXPECT_EQ(ChannelsByNccl(Resources(55), kFacts).channels_per_net_peer, 4);
  EXPECT_EQ(ChooseChannelsPerNetPeer(Resources(55), kFacts), 8);
}

// Rank 1 has peers 0, 2 and 3, one of them both ways.
TEST(ChannelChoiceTest, PeersCountOnceWhicheverWay) {
  Plan plan;
  EXPECT_EQ(CountPeers(plan), 0);
  for (const auto& [from, to] : {std::pair(0, 1), {1, 0}, {1, 2}, {3, 1}, {0, 1}}) {
    Transfer transfer;
    transfer.from = from;
    transfer.to = to;
    plan.transfers.push_back(transfer);
  }
  EXPECT_EQ(CountPeers(plan), 3);
}

}  // namespace
}  // namespace reshard
