#include "runtime/mpi/mpi_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/runtime/mpi/ranks.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MpiWorldTest, HasARankForEachProcess) {
  EXPECT_TRUE(MpiWorld::IsRunning());
  EXPECT_EQ(TheWorld().size(), 5);
  EXPECT_GE(TheWorld().rank(), 0);
  EXPECT_LT(TheWorld().rank(), 5);
}

// All processes of a test run on one machine.
TEST(MpiWorldTest, KnowsWhoStartedItAndItsPlaceOnTheMachine) {
  EXPECT_TRUE(MpiWorld::IsLaunched());
  EXPECT_EQ(*TheWorld().LocalRank(), TheWorld().rank());
}

TEST(MpiWorldTest, EveryRankGetsTheMinima) {
  const auto rank = static_cast<std::uint64_t>(TheWorld().rank());
  std::vector<std::uint64_t> values = {rank + 7, ~rank, rank == 3 ? 1u : 2u};
  ASSERT_TRUE(TheWorld().MinimumOverRanks(values, std::chrono::seconds(60), "testing"));
  EXPECT_THAT(values, ElementsAre(7, ~std::uint64_t{4}, 1));
}

// Rank 0 comes when the others have given up; then all are even again.
TEST(MpiWorldTest, SaysWhenNotAllTookPart) {
  Meet();
  std::uint64_t value[] = {1};
  if (TheWorld().rank() != 0) {
    const Result<void> alone =
        TheWorld().MinimumOverRanks(value, std::chrono::milliseconds(100), "testing");
    ASSERT_FALSE(alone);
    EXPECT_EQ(alone.error().fault, Fault::kRun);
    EXPECT_THAT(alone.error().reason, HasSubstr("testing: not all ranks took part in time"));
    return;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < end) {
  }
  EXPECT_TRUE(TheWorld().MinimumOverRanks(value, std::chrono::seconds(60), "testing"));
}

}  // namespace
}  // namespace reshard
