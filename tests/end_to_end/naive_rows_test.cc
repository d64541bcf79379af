#include "tests/end_to_end/naive_rows.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace reshard {
namespace {

std::vector<std::int64_t> NumbersOf(const std::vector<Row>& rows) {
  std::vector<std::int64_t> numbers;
  for (const Row& row : rows) numbers.push_back(row.row);
  return numbers;
}

// 10 over 4 is 3, 3, 3, 1; 5 over 4 is 2, 2, 1 and nothing.
TEST(NaiveRowsTest, ChunksAreThoseOfTorch) {
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(NumbersOf(Chunk(RowsOf(0, 0, 10), 4, 1)), (Numbers{3, 4, 5}));
  EXPECT_EQ(NumbersOf(Chunk(RowsOf(0, 0, 10), 4, 3)), (Numbers{9}));
  EXPECT_EQ(NumbersOf(Chunk(RowsOf(0, 0, 5), 4, 2)), (Numbers{4}));
  EXPECT_TRUE(Chunk(RowsOf(0, 0, 5), 4, 3).empty());
}

TEST(NaiveRowsTest, ArraysHoldTheElementsOfTheirRows) {
  std::vector<Row> rows = RowsOf(2, 4, 5);
  Append(rows, {kPadRow, kZeroRow});
  const NaiveArray array = ArrayOf(rows, 2);
  ASSERT_EQ(array.elements.size(), 6U);
  EXPECT_EQ(array.elements[0].tensor, 2);
  EXPECT_EQ(array.elements[0].index, 8);  // row 4 of 2 elements each
  EXPECT_EQ(array.elements[1].index, 9);
  EXPECT_EQ(array.elements[3].tensor, -1);
  EXPECT_EQ(array.elements[5].tensor, kNaiveZero);
}

}  // namespace
}  // namespace reshard
