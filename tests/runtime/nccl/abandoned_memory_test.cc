#include "runtime/nccl/abandoned_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace reshard {
namespace {

TEST(AbandonedMemoryTest, IsNeverGivenOutAgain) {
  static std::byte memory[100];
  const auto owner = std::make_shared<int>(1);
  const std::vector<MemoryRange> abandoned = {{memory + 10, 20}, {memory + 50, 0}, {nullptr, 0}};
  Abandon(abandoned, owner);
  EXPECT_EQ(owner.use_count(), 2);
  const auto check = [](std::int64_t offset, std::int64_t bytes) {
    const std::vector<MemoryRange> range = {{memory + offset, bytes}};
    return CheckNotAbandoned(range, "rank 1").has_value();
  };
  EXPECT_TRUE(check(0, 10));
  EXPECT_FALSE(check(0, 11));
  EXPECT_FALSE(check(29, 1));
  EXPECT_TRUE(check(30, 70));
  EXPECT_TRUE(check(15, 0));
  EXPECT_FALSE(check(0, 100));
  const std::vector<MemoryRange> inside = {{memory + 15, 1}};
  EXPECT_THAT(ToString(CheckNotAbandoned(inside, "rank 1").error()),
              ::testing::HasSubstr("restart the process"));
}

}  // namespace
}  // namespace reshard
