#include "simulator/connection_memory.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "sample_plan.h"

namespace reshard {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

Constants MemoryConstants() {
  Constants constants;
  constants.channels = 32;
  constants.nvlink_connection_mib = 12;
  constants.network_pool_mib = 128;
  return constants;
}

// Two domains of three GPUs. Rank 0 has both others of its domain and all of the next one:
// 2 peers * 4 channels (the plan's hint) * 12 MiB and the pool, however many network peers there
// are.
TEST(ConnectionMemoryTest, TheRankThatNeedsMost) {
  SamplePlan sample(SampleCluster(2, 3));
  sample.Send(0, 1, 16).Send(2, 0, 16).Send(0, 3, 16).Send(0, 4, 16).Send(5, 0, 16).Send(3, 4, 16);
  const ConnectionNeeds needs = MostConnectionMemory(sample.plan, MemoryConstants());
  EXPECT_EQ(needs.nvlink_peers, 2);
  EXPECT_EQ(needs.network_peers, 3);
  EXPECT_EQ(needs.bytes, (2 * 4 * 12 + 128) * kMiB);
}

// Inside one domain nobody holds NCCL's channels back: a peer has all 32.
TEST(ConnectionMemoryTest, APeerCountsOnceWhicheverWay) {
  SamplePlan sample(SampleCluster(1, 2));
  sample.Send(0, 1, 16).Send(1, 0, 16);
  const ConnectionNeeds needs = MostConnectionMemory(sample.plan, MemoryConstants());
  EXPECT_EQ(needs.nvlink_peers, 1);
  EXPECT_EQ(needs.network_peers, 0);
  EXPECT_EQ(needs.bytes, 32 * 12 * kMiB);
}

TEST(ConnectionMemoryTest, WithoutTransfersNothing) {
  const SamplePlan sample(SampleCluster(1, 2));
  EXPECT_EQ(MostConnectionMemory(sample.plan, MemoryConstants()).bytes, 0);
}

}  // namespace
}  // namespace reshard
