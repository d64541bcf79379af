#include "runtime/available_memory.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

TEST(AvailableMemoryTest, ReadsTheLineInKibibytes) {
  EXPECT_EQ(ParseAvailableMemory("MemTotal:       24576000 kB\nMemFree:         1000 kB\n"
                                 "MemAvailable:    2048 kB\nBuffers: 5 kB\n"),
            2048 * 1024);
}

TEST(AvailableMemoryTest, SaysNothingWhereTheLineIsMissingOrBroken) {
  EXPECT_FALSE(ParseAvailableMemory(""));
  EXPECT_FALSE(ParseAvailableMemory("MemTotal: 24576000 kB\n"));
  EXPECT_FALSE(ParseAvailableMemory("MemAvailable: many kB\n"));
  EXPECT_FALSE(ParseAvailableMemory("MemAvailable:"));
  EXPECT_FALSE(ParseAvailableMemory("MemAvailable: 9223372036854775807 kB\n"));
}

TEST(AvailableMemoryTest, ThisMachineHasRoomForThisTest) {
  const auto bytes = AvailableMemoryBytes();
  ASSERT_TRUE(bytes);
  EXPECT_GT(*bytes, 1 << 20);
}

}  // namespace
}  // namespace reshard
