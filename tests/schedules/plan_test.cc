#include "schedules/plan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace reshard {
namespace {

constexpr std::uint32_t kQuarter = std::uint32_t{1} << 30U;  // 2^32 / 4

TEST(PlanTest, ChunksAreWeightsOfTheColumnRoundedDownAndTheLastTakesTheRest) {
  // 1000 bytes in quarters: 250 rounds down to 240; the last has 1000 - 3 * 240 = 280.
  const Profile profile{{kQuarter, kQuarter, kQuarter, kQuarter}};
  const Column column{0, 0, 5000, 6000};
  EXPECT_EQ(ChunkRange(column, profile, 0), (ByteRange{5000, 5240}));
  EXPECT_EQ(ChunkRange(column, profile, 1), (ByteRange{5240, 5480}));
  EXPECT_EQ(ChunkRange(column, profile, 3), (ByteRange{5720, 6000}));
  EXPECT_EQ(ChunkRange(column, profile, -1).size(), 0);
  EXPECT_EQ(ChunkRange(column, profile, 4).size(), 0);
  EXPECT_EQ(ChunkStarts(column, profile),
            (std::vector<std::int64_t>{5000, 5240, 5480, 5720, 6000}));
}

TEST(PlanTest, ColumnsOfNearly2To63BytesDoNotOverflow) {
  // floor((2^63 - 1) / 4) rounded down to 16 is 2^61 - 16.
  const std::int64_t bytes = INT64_MAX;
  const Profile profile{{kQuarter, kQuarter}};
  EXPECT_EQ(ChunkBytes({0, 0, 0, bytes}, profile, 0), (std::int64_t{1} << 61) - 16);
  EXPECT_EQ(ChunkBytes({0, 0, 0, bytes}, profile, 1), bytes - (std::int64_t{1} << 61) + 16);
}

TEST(PlanTest, ChunksPartitionAnyColumn) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 500; ++trial) {
    Profile profile;
    std::uint64_t left = std::uint64_t{1} << 32U;
    const int count = 1 + static_cast<int>(random() % 12);
    for (int k = 0; k < count; ++k) {
      const auto weight = static_cast<std::uint32_t>(random() % (left / 2 + 1));
      // Equal neighbours now and then, as real profiles have.
      const bool repeat = k > 0 && random() % 2 == 0 && profile.weights.back() <= left;
      profile.weights.push_back(repeat ? profile.weights.back() : weight);
      left -= profile.weights.back();
    }
    const std::int64_t begin = random() % 1000;
    const Column column{0, 0, begin, begin + 1 + static_cast<std::int64_t>(random() % 100000)};
    const std::vector<std::int64_t> starts = ChunkStarts(column, profile);
    std::int64_t next = column.begin;
    for (int k = 0; k < count; ++k) {
      const ByteRange range = ChunkRange(column, profile, k);
      EXPECT_EQ(range.begin, next);
      EXPECT_GE(range.size(), 0);
      EXPECT_EQ(range.size(), ChunkBytes(column, profile, k));
      EXPECT_EQ(range.begin, starts[static_cast<std::size_t>(k)]);
      if (k < count - 1) {
        EXPECT_EQ(range.size() % kChunkAlignmentBytes, 0);
      }
      next = range.end;
    }
    EXPECT_EQ(next, column.end);
  }
}

class PlacementTest : public ::testing::Test {
 protected:
  // Column 0: 100 bytes in halves (48, 52); column 1: 33 bytes in one piece.
  std::vector<Profile> profiles_{{{2 * kQuarter, 2 * kQuarter}}, {{1}}};
  std::vector<Column> columns_{{0, 0, 0, 100}, {1, 1, 7, 40}};
  Slot slot_{SlotKind::kPack, 0, 112, 1, {{0, 3}, {1, 4}}};
};

TEST_F(PlacementTest, ItemsLieBackToBackAtMultiplesOf16) {
  const auto third = PlaceItems(slot_, 3, columns_, profiles_);
  EXPECT_EQ(third[0].bytes, (ByteRange{0, 48}));
  EXPECT_EQ(third[1].bytes.size(), 0);
  const auto fourth = PlaceItems(slot_, 4, columns_, profiles_);
  EXPECT_EQ(fourth[0].bytes, (ByteRange{48, 100}));
  EXPECT_EQ(fourth[1].offset, 64);  // 52 rounded up
  EXPECT_EQ(fourth[1].bytes, (ByteRange{7, 40}));
}

TEST_F(PlacementTest, RunsCountRoundedSizes) {
  EXPECT_EQ(RunBytes(slot_, {0, 0, 2}, 2, columns_, profiles_), 0);
  EXPECT_EQ(RunBytes(slot_, {0, 0, 2}, 3, columns_, profiles_), 48);
  EXPECT_EQ(RunBytes(slot_, {0, 0, 2}, 4, columns_, profiles_), 64 + 48);
  EXPECT_EQ(RunBytes(slot_, {0, 1, 1}, 4, columns_, profiles_), 48);
  EXPECT_EQ(RunBytes(slot_, {0, 0, 2}, 5, columns_, profiles_), 0);
}

TEST_F(PlacementTest, ActiveRoundsAreThoseThatCarryBytes) {
  const RoundRange both = ActiveRounds(slot_.items[0], columns_, profiles_);
  EXPECT_EQ(both.first, 3);
  EXPECT_EQ(both.last, 5);
  // 20 bytes in halves: 10 rounds down to nothing, the last chunk has them all.
  columns_[0].end = 20;
  const RoundRange late = ActiveRounds(slot_.items[0], columns_, profiles_);
  EXPECT_EQ(late.first, 4);
  EXPECT_EQ(late.last, 5);
}

}  // namespace
}  // namespace reshard
