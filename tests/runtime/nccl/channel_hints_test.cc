#include "runtime/nccl/channel_hints.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

// Four, which NCCL does not halve as it does its own choice, whatever the number of peers.
TEST(ChannelHintsTest, FourChannelsForEveryPeer) {
  EXPECT_EQ(NetworkChannelsPerPeer(0), std::nullopt);
  EXPECT_EQ(NetworkChannelsPerPeer(1), 4);
  EXPECT_EQ(NetworkChannelsPerPeer(65), 4);
  EXPECT_EQ(NetworkChannelsPerPeer(1024), 4);
}

}  // namespace
}  // namespace reshard
