#include "tests/doubles/shared_world.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "tests/doubles/device_memory.h"

namespace reshard::doubles {
namespace {

// All ranks of a world in this one process: they meet as processes would. What processes do to each
// other when they are killed is tested by tests/tools/nccl_replay_test.py.
class SharedWorldTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = 4096;

  explicit SharedWorldTest(int ranks = 2) {
    static std::uint64_t next = 1;
    name_ = SharedWorldName(next++);
    world_ = MakeSharedWorld(name_, ranks);
    memory_ = static_cast<std::byte*>(AllocateDevice(kBytes));
    for (std::size_t i = 0; i < kBytes; ++i) {
      InOpenView(memory_)[i] = static_cast<std::byte>(i % 251);
    }
    const std::lock_guard lock(TheProgress().mutex);
    for (int rank = 0; rank < ranks; ++rank) {
      endpoints_.push_back(std::make_shared<Endpoint>());
      endpoints_.back()->rank = rank;
      endpoints_.back()->world = world_;
      EXPECT_FALSE(world_->IsComplete());
      EXPECT_TRUE(world_->Join(endpoints_.back()));
      EXPECT_FALSE(world_->Join(endpoints_.back()));
    }
    EXPECT_TRUE(world_->IsComplete());
  }
  ~SharedWorldTest() override {
    const std::lock_guard lock(TheProgress().mutex);
    for (const auto& endpoint : endpoints_) {
      world_->Drop(*endpoint);
      endpoint->world.reset();
    }
    world_.reset();
    EXPECT_TRUE(FreeDevice(memory_));
  }

  // Posts one operation; the number of those that have ended is in `ended_`.
  void Post(int rank, bool sends, int peer, std::size_t offset, std::size_t bytes) {
    const std::lock_guard lock(TheProgress().mutex);
    world_->Post({{{sends, peer, memory_ + offset, bytes},
                   endpoints_[static_cast<std::size_t>(rank)],
                   [this] { ++ended_; }}});
  }
  bool Ends(int wanted) {
    std::unique_lock lock(TheProgress().mutex);
    return TheProgress().changed.wait_for(lock, std::chrono::seconds(20),
                                          [&] { return ended_ >= wanted; });
  }
  int EndedBy(std::chrono::milliseconds time) {
    std::unique_lock lock(TheProgress().mutex);
    TheProgress().changed.wait_for(lock, time, [] { return false; });
    return ended_;
  }

  std::string name_;
  std::shared_ptr<World> world_;
  std::byte* memory_ = nullptr;
  std::vector<std::shared_ptr<Endpoint>> endpoints_;
  int ended_ = 0;
};

TEST_F(SharedWorldTest, BytesGoFromDeviceToDevice) {
  Post(0, true, 1, 10, 100);
  Post(1, false, 0, 2000, 100);
  EXPECT_TRUE(Ends(2));
  EXPECT_EQ(std::memcmp(InOpenView(memory_) + 10, InOpenView(memory_) + 2000, 100), 0);
}

TEST_F(SharedWorldTest, OperationsOfAPairKeepTheirOrder) {
  // More than a channel announces at once.
  constexpr int kOperations = 200;
  for (int i = 0; i < kOperations; ++i) Post(0, true, 1, static_cast<std::size_t>(i), 1);
  for (int i = 0; i < kOperations; ++i) Post(1, false, 0, 1000 + static_cast<std::size_t>(i), 1);
  EXPECT_TRUE(Ends(2 * kOperations));
  EXPECT_EQ(std::memcmp(InOpenView(memory_), InOpenView(memory_) + 1000, kOperations), 0);
}

TEST_F(SharedWorldTest, AnotherSizeBlocks) {
  Post(0, true, 1, 0, 10);
  Post(1, false, 0, 1000, 11);
  EXPECT_EQ(EndedBy(std::chrono::milliseconds(30)), 0);
}

TEST_F(SharedWorldTest, WhatWasTakenBackIsNotReceived) {
  Post(0, true, 1, 0, 10);
  {
    const std::lock_guard lock(TheProgress().mutex);
    world_->Drop(*endpoints_[0]);
  }
  Post(1, false, 0, 1000, 10);
  EXPECT_EQ(EndedBy(std::chrono::milliseconds(30)), 0);
}

TEST_F(SharedWorldTest, RanksConnectWhenBothWant) {
  const std::lock_guard lock(TheProgress().mutex);
  world_->WantPeer(0, 1);
  EXPECT_FALSE(world_->IsConnected(0, 1));
  world_->WantPeer(1, 0);
  EXPECT_TRUE(world_->IsConnected(0, 1));
  EXPECT_TRUE(world_->IsConnected(1, 0));
}

TEST(SharedWorldNameTest, IsOneOfItsOwn) {
  EXPECT_TRUE(IsSharedWorldName(SharedWorldName(1).c_str()));
  EXPECT_NE(SharedWorldName(1), SharedWorldName(2));
  EXPECT_FALSE(IsSharedWorldName("\1"));
  const std::string name = SharedWorldName(3);
  const std::shared_ptr<World> world = MakeSharedWorld(name, 3);
  ASSERT_NE(world, nullptr);
  EXPECT_EQ(MakeSharedWorld(name, 4), nullptr);
  const std::lock_guard lock(TheProgress().mutex);  // who polls lets go of it first
}

}  // namespace
}  // namespace reshard::doubles
