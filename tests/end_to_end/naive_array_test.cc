// The oracle's own cuts against the worked examples of PyTorch and of published defects.
#include "tests/end_to_end/naive_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Longs = std::vector<std::int64_t>;

Longs Sizes(std::int64_t size, std::int64_t count, const std::string& cut) {
  Longs sizes;
  for (std::int64_t i = 0; i < count; ++i) {
    NaivePlacement placement;
    placement.dim = 0;
    placement.cut = cut;
    sizes.push_back(static_cast<std::int64_t>(PieceOf(size, count, i, placement).size()));
  }
  return sizes;
}

TEST(NaiveArrayTest, ChunkAndBalanced) {
  EXPECT_THAT(Sizes(10, 4, "chunk"), ElementsAre(3, 3, 3, 1));
  EXPECT_THAT(Sizes(10, 4, "balanced"), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(Sizes(6, 4, "chunk"), ElementsAre(2, 2, 2, 0));
  EXPECT_THAT(Sizes(2, 8, "chunk"), ElementsAre(1, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(Sizes(0, 3, "balanced"), ElementsAre(0, 0, 0));
}

// arange(5), mesh 2, _S(0, 2): torch holds [0, 1, 3] and [2, 4].
TEST(NaiveArrayTest, StridedShard) {
  NaivePlacement placement;
  placement.dim = 0;
  placement.split = 2;
  EXPECT_THAT(PieceOf(5, 2, 0, placement), ElementsAre(0, 1, 3));
  EXPECT_THAT(PieceOf(5, 2, 1, placement), ElementsAre(2, 4));
}

// 8 rows on (dp 2, tp 4), S(0) twice: dp first, rank (1, 0) holds row 4; tp first, row 1.
TEST(NaiveArrayTest, TwoAxesOnOneDimInBothOrders) {
  const NaiveArray rows = WholeArray(0, {8});
  std::vector<NaivePlacement> placements(2);
  placements[0].dim = 0;
  placements[1].dim = 0;
  EXPECT_EQ(Place(rows, {2, 4}, {1, 0}, placements, {0, 1}).elements[0].index, 4);
  EXPECT_EQ(Place(rows, {2, 4}, {1, 0}, placements, {1, 0}).elements[0].index, 1);
}

TEST(NaiveArrayTest, TakeAndConcatenateKeepOtherDims) {
  const NaiveArray matrix = WholeArray(0, {2, 3});
  const NaiveArray columns = Take(matrix, 1, {2, 0});
  EXPECT_THAT(columns.shape, ElementsAre(2, 2));
  EXPECT_THAT(columns.elements, ElementsAre(ElementName{0, 2}, ElementName{0, 0}, ElementName{0, 5},
                                            ElementName{0, 3}));
  const NaiveArray joined = Concatenate({columns, matrix}, 1);
  EXPECT_THAT(joined.shape, ElementsAre(2, 5));
  EXPECT_EQ(joined.elements[2], (ElementName{0, 0}));
  EXPECT_EQ(joined.elements[5], (ElementName{0, 5}));
  const NaiveArray empty = Take(matrix, 0, {});
  EXPECT_THAT(empty.shape, ElementsAre(0, 3));
  EXPECT_THAT(empty.elements, IsEmpty());
}

}  // namespace
}  // namespace reshard
