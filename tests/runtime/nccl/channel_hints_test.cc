#include "runtime/nccl/channel_hints.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

// channels * ceil(peers / 8) <= 32, at most 4 and never 1, which NCCL comes to by itself.
TEST(ChannelHintsTest, AsManyChannelsAsThePeersLeave) {
  EXPECT_EQ(NetworkChannelsPerPeer(0), std::nullopt);
  EXPECT_EQ(NetworkChannelsPerPeer(1), 4);
  EXPECT_EQ(NetworkChannelsPerPeer(64), 4);
  EXPECT_EQ(NetworkChannelsPerPeer(65), 2);
  EXPECT_EQ(NetworkChannelsPerPeer(128), 2);
  EXPECT_EQ(NetworkChannelsPerPeer(129), std::nullopt);
}

}  // namespace
}  // namespace reshard
