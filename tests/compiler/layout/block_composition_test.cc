#include "compiler/layout/block_composition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Longs = std::vector<std::int64_t>;

// What stands at each element of the block, row-major: 100 * tensor + element of it; -1 for
// padding, 0 for zeros (tensors of the tests count from 1). Each element may stand once.
Longs Contents(const Block& block, const std::vector<Longs>& shapes) {
  std::int64_t size = 1;
  for (const std::int64_t extent : block.shape()) size *= extent;
  Longs contents(static_cast<std::size_t>(size), -1);
  const auto paint = [&](const RegionTable& table, bool zeros) {
    for (std::int64_t r = 0; r < table.size(); ++r) {
      const Region region = table[r];
      Longs index(region.extent.size(), 0);
      for (bool more = true; more;) {
        std::int64_t at = region.offset;
        std::int64_t element = 0;
        for (std::size_t k = 0; k < index.size(); ++k) {
          at += index[k] * region.stride[k];
          if (zeros) continue;
          const Longs& shape = shapes[static_cast<std::size_t>(region.tensor)];
          element = element * shape[k] + region.begin[k] + index[k];
        }
        std::int64_t& place = contents.at(static_cast<std::size_t>(at));
        EXPECT_EQ(place, -1) << "element " << at << " stands twice";
        place = zeros ? 0 : 100 * region.tensor + element;
        more = false;
        for (std::size_t k = index.size(); k-- > 0 && !more;) {
          more = ++index[k] < region.extent[k];
          if (!more) index[k] = 0;
        }
      }
    }
  };
  RegionTable regions;
  block.AppendRegions(0, regions);
  EXPECT_EQ(block.RegionCount(), regions.size());
  paint(regions, false);
  RegionTable zeros;
  block.AppendZeros(0, zeros);
  paint(zeros, true);
  return contents;
}

TEST(BlockCompositionTest, StacksAlongAnyDim) {
  const std::vector<Longs> shapes = {{}, {2}, {2}};
  const std::vector<Block> parts = {Block::OfTensor(1, {2}), Block::OfTensor(2, {2})};
  EXPECT_THAT(StackAt(0, parts).shape(), ElementsAre(2, 2));
  EXPECT_THAT(Contents(StackAt(0, parts), shapes), ElementsAre(100, 101, 200, 201));
  EXPECT_THAT(Contents(StackAt(1, parts), shapes), ElementsAre(100, 200, 101, 201));
}

// Two groups: 2 of 4, 1 of 2 and 1 of 2 elements each.
TEST(BlockCompositionTest, InterleavesGroupByGroup) {
  const std::vector<Longs> shapes = {{}, {4}, {2}, {2}};
  const std::vector<Block> parts = {Block::OfTensor(1, {4}), Block::OfTensor(2, {2}),
                                    Block::OfTensor(3, {2})};
  const Result<Block> joined = Interleave(0, 2, parts);
  ASSERT_TRUE(joined);
  EXPECT_THAT(Contents(*joined, shapes), ElementsAre(100, 101, 200, 300, 102, 103, 201, 301));
  const Result<Block> uneven = Interleave(0, 4, parts);
  ASSERT_FALSE(uneven);
  EXPECT_EQ(uneven.error().reason, "a part of 2 along dim 0 does not divide into 4 groups");
}

TEST(BlockCompositionTest, TakesInAnyOrderAndAgain) {
  const std::vector<Longs> shapes = {{}, {3, 2}};
  const Block block = Block::OfTensor(1, {3, 2});
  EXPECT_THAT(Contents(Take(block, 0, Longs{2, 0, 1, 2}).value(), shapes),
              ElementsAre(104, 105, 100, 101, 102, 103, 104, 105));
  EXPECT_THAT(Contents(Take(block, 1, Longs{1}).value(), shapes), ElementsAre(101, 103, 105));
  EXPECT_THAT(Take(block, 0, Longs{}).value().shape(), ElementsAre(0, 2));
}

// Every second entry of one dim: 2049 pieces. Of another as well: 2049 * 2049, over 2^22.
TEST(BlockCompositionTest, TakesOfTooManyPiecesAreRefused) {
  Longs every_second;
  for (std::int64_t index = 0; index < 2 * 2049; index += 2) every_second.push_back(index);
  const Result<Block> rows = Take(Block::OfTensor(1, {4098, 4098}), 0, every_second);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->piece_count(), 2049);
  const Result<Block> refused = Take(*rows, 1, every_second);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().reason, HasSubstr("too many pieces"));
}

TEST(BlockCompositionTest, RepeatsEachEntryInARow) {
  const std::vector<Longs> shapes = {{}, {2, 2}};
  const Block block = Block::OfTensor(1, {2, 2});
  EXPECT_THAT(Contents(Repeat(block, 0, 2).value(), shapes),
              ElementsAre(100, 101, 100, 101, 102, 103, 102, 103));
  EXPECT_THAT(Contents(Repeat(block, 1, 3).value(), shapes),
              ElementsAre(100, 100, 100, 101, 101, 101, 102, 102, 102, 103, 103, 103));
  const Result<Block> huge = Repeat(block, 0, std::int64_t{1} << 62);
  ASSERT_FALSE(huge);
  EXPECT_THAT(huge.error().reason, HasSubstr("too many pieces"));
}

TEST(BlockCompositionTest, PadsWithZeros) {
  const std::vector<Longs> shapes = {{}, {2, 2}};
  const Block padded = ZeroPadTo(Block::OfTensor(1, {2, 2}), 1, 3);
  EXPECT_THAT(Contents(padded, shapes), ElementsAre(100, 101, 0, 102, 103, 0));
  EXPECT_THAT(Contents(padded.PadTo(0, 3), shapes),
              ElementsAre(100, 101, 0, 102, 103, 0, -1, -1, -1));
  EXPECT_THAT(Contents(padded.Slice(1, 1, 3), shapes), ElementsAre(101, 0, 103, 0));
}

// Every second element of 3 * 2^40: a region for each would not fit anywhere.
TEST(BlockCompositionTest, CountsRegionsWithoutMakingThem) {
  const std::int64_t rows = std::int64_t{1} << 40;
  const Block block = Block::OfTensor(1, {rows * 3});
  const Block turned = block.SplitDim(0, 3).value().Transpose(std::vector<int>{1, 0});
  EXPECT_EQ(turned.RegionCount(), rows);
  EXPECT_EQ(block.RegionCount(), 1);
}

}  // namespace
}  // namespace reshard
