#include "simulator/recurrence.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;

TEST(RecurrenceTest, FindsTheLatestEqualState) {
  RecurrenceFinder finder(4);
  EXPECT_FALSE(finder.Add({{1}, {5}}, 10, 0));
  EXPECT_FALSE(finder.Add({{2}, {5}}, 11, 100));
  const std::optional<Recurrence> found = finder.Add({{1}, {5}}, 12, 250);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rounds, 2);
  EXPECT_EQ(found->time, 250);
}

// Over a period of 2 ms times may differ by 20 ns; below 100 us by nothing.
TEST(RecurrenceTest, TimesMayDifferByAShareOfThePeriod) {
  RecurrenceFinder finder(4);
  EXPECT_FALSE(finder.Add({{1}, {500}}, 0, 0));
  EXPECT_FALSE(finder.Add({{1}, {521}}, 1, 2 * kMillisecond));
  EXPECT_TRUE(finder.Add({{1}, {541}}, 2, 4 * kMillisecond));
  finder.Clear();
  EXPECT_FALSE(finder.Add({{1}, {500}}, 0, 0));
  EXPECT_FALSE(finder.Add({{1}, {501}}, 1, kMillisecond / 20));
  EXPECT_TRUE(finder.Add({{1}, {501}}, 2, kMillisecond / 10));
}

TEST(RecurrenceTest, ForgetsWhatIsOlderThanItsMemory) {
  RecurrenceFinder finder(2);
  for (RoundIndex round = 0; round < 3; ++round)
    EXPECT_FALSE(finder.Add({{round}, {}}, round, round));
  EXPECT_FALSE(finder.Add({{0}, {}}, 3, 3));
  EXPECT_TRUE(finder.Add({{2}, {}}, 4, 4));
}

}  // namespace
}  // namespace reshard
