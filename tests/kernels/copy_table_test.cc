#include "kernels/copy_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::byte> Ascending(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

std::vector<int> AsNumbers(const std::vector<std::byte>& bytes) {
  std::vector<int> numbers;
  for (const std::byte b : bytes) numbers.push_back(std::to_integer<int>(b));
  return numbers;
}

TEST(CopyTableTest, CopiesABlockOfRowsByHand) {
  // Rows 1 and 2, columns 1..2 of a 4 x 3 byte matrix holding 0..11: 4 5 / 7 8.
  std::vector<std::byte> source = Ascending(12);
  std::vector<std::byte> destination(4);
  const StridedDim rows[] = {{2, 3, 2}};
  CopyTable table;
  table.Add({0, 1, 4, 0, 2, rows});
  EXPECT_EQ(table.bytes(), 4);
  std::byte* const bases[] = {source.data(), destination.data()};
  RunCopies(table, bases);
  EXPECT_THAT(AsNumbers(destination), ElementsAre(4, 5, 7, 8));
}

TEST(CopyTableTest, TransposesByHand) {
  // [[0, 1, 2], [3, 4, 5]] -> [[0, 3], [1, 4], [2, 5]].
  std::vector<std::byte> source = Ascending(6);
  std::vector<std::byte> destination(6);
  const StridedDim dims[] = {{2, 3, 1}, {3, 1, 2}};
  CopyTable table;
  table.Add({0, 1, 0, 0, 1, dims});
  std::byte* const bases[] = {source.data(), destination.data()};
  RunCopies(table, bases);
  EXPECT_THAT(AsNumbers(destination), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(CopyTableTest, StoresTheSimplestForm) {
  // 3 x 1 x 4 runs of 2 bytes, dense on both ends: one run of 24 bytes.
  const StridedDim dense[] = {{3, 8, 8}, {1, 99, 77}, {4, 2, 2}};
  CopyTable table;
  table.Add({0, 1, 10, 20, 2, dense});
  ASSERT_EQ(table.size(), 1);
  EXPECT_EQ(table[0].run, 24);
  EXPECT_TRUE(table[0].dims.empty());
  // Dense on one end only: the two outer dims continue each other on both ends and are joined,
  // the run is not.
  const StridedDim spread[] = {{3, 20, 8}, {4, 5, 2}};
  table.Add({0, 1, 0, 0, 2, spread});
  ASSERT_EQ(table.size(), 2);
  EXPECT_EQ(table[1].run, 2);
  ASSERT_EQ(table[1].dims.size(), 1u);
  EXPECT_EQ(table[1].dims[0], (StridedDim{12, 5, 2}));
}

TEST(CopyTableTest, FillsWithZerosByHand) {
  // Columns 1..2 of rows 0 and 2 of a 3 x 4 matrix.
  std::vector<std::byte> destination = Ascending(12);
  const StridedDim rows[] = {{2, 8, 8}};
  CopyTable table;
  table.Add(ZeroFill(0, 1, 2, rows));
  EXPECT_EQ(table.bytes(), 4);
  std::byte* const bases[] = {destination.data()};
  RunCopies(table, bases);
  EXPECT_THAT(AsNumbers(destination), ElementsAre(0, 0, 0, 3, 4, 5, 6, 7, 8, 0, 0, 11));
}

TEST(CopyTableTest, DropsCopiesOfNothing) {
  const StridedDim none[] = {{0, 8, 8}};
  CopyTable table;
  table.Add({0, 1, 0, 0, 4, none});
  table.Add({0, 1, 0, 0, 0, {}});
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.bytes(), 0);
  EXPECT_TRUE(table.dims().empty());
}

TEST(CopyTableTest, BoundsAreExact) {
  const StridedDim dims[] = {{3, 10, 4}};  // reads [5, 5 + 20 + 4), writes [1, 1 + 8 + 4)
  CopyTable table;
  table.Add({0, 1, 5, 1, 4, dims});
  const auto message = [&](std::int64_t source, std::int64_t destination) {
    const std::int64_t bytes[] = {source, destination};
    const Result<void> result = CheckBounds(table, bytes);
    return result ? std::string("inside") : result.error().reason;
  };
  EXPECT_EQ(message(29, 13), "inside");
  EXPECT_THAT(message(28, 13), HasSubstr("reads outside of buffer 0"));
  EXPECT_THAT(message(29, 12), HasSubstr("writes outside of buffer 1"));
  const std::int64_t only_one[] = {1000};
  EXPECT_FALSE(CheckBounds(table, only_one));
}

TEST(CopyTableTest, BoundsSurviveHugeNumbers) {
  const std::int64_t huge = std::int64_t{1} << 62;
  const StridedDim dims[] = {{3, huge, 4}};  // 2 * 2^62 + .. does not fit 64 bits
  CopyTable table;
  table.Add({0, 1, 0, 0, 4, dims});
  const std::int64_t bytes[] = {huge, huge};
  EXPECT_FALSE(CheckBounds(table, bytes));
  CopyTable negative;
  negative.Add({0, 1, -1, 0, 4, {}});
  EXPECT_FALSE(CheckBounds(negative, bytes));
}

TEST(CopyTableTest, ACopyOntoItselfMovesNothing) {
  std::vector<std::byte> buffer = Ascending(16);
  const StridedDim dims[] = {{2, 8, 8}};
  CopyTable table;
  table.Add({0, 1, 1, 1, 3, dims});
  std::byte* const bases[] = {buffer.data(), buffer.data()};
  RunCopies(table, bases);
  EXPECT_EQ(buffer, Ascending(16));
}

// Against an oracle that knows only the definition: one byte at a time, indices counted up.
TEST(CopyTableTest, RandomCopiesEqualByteByByte) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 2000; ++trial) {
    const std::int64_t run = draw(0, 3) == 0 ? draw(1, 40) : std::int64_t{1} << draw(0, 5);
    std::vector<StridedDim> dims(static_cast<std::size_t>(draw(0, 4)));
    // Strides from the inside out, sometimes dense, so that no two destination bytes coincide.
    std::int64_t source_size = run;
    std::int64_t destination_size = run;
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
      dim->count = draw(1, 5);
      dim->source_stride = source_size + (draw(0, 1) == 0 ? 0 : draw(1, 9));
      dim->destination_stride = destination_size + (draw(0, 1) == 0 ? 0 : draw(1, 9));
      source_size = dim->count * dim->source_stride;
      destination_size = dim->count * dim->destination_stride;
    }
    const std::int64_t source_offset = draw(0, 20);
    const std::int64_t destination_offset = draw(0, 20);
    std::vector<std::byte> source(static_cast<std::size_t>(source_size + source_offset));
    for (std::byte& b : source) b = static_cast<std::byte>(random());
    std::vector<std::byte> destination(
        static_cast<std::size_t>(destination_size + destination_offset), std::byte{0xA5});
    std::vector<std::byte> expected = destination;

    std::vector<std::int64_t> index(dims.size(), 0);
    for (bool more = true; more;) {
      std::int64_t from = source_offset;
      std::int64_t to = destination_offset;
      for (std::size_t d = 0; d < dims.size(); ++d) {
        from += index[d] * dims[d].source_stride;
        to += index[d] * dims[d].destination_stride;
      }
      for (std::int64_t b = 0; b < run; ++b) {
        expected[static_cast<std::size_t>(to + b)] = source[static_cast<std::size_t>(from + b)];
      }
      more = false;
      for (std::size_t d = dims.size(); d-- > 0;) {
        if (++index[d] < dims[d].count) {
          more = true;
          break;
        }
        index[d] = 0;
      }
    }

    CopyTable table;
    table.Add({0, 1, source_offset, destination_offset, run, dims});
    const std::int64_t bytes[] = {static_cast<std::int64_t>(source.size()),
                                  static_cast<std::int64_t>(destination.size())};
    ASSERT_TRUE(CheckBounds(table, bytes));
    std::byte* const bases[] = {source.data(), destination.data()};
    RunCopies(table, bases);
    ASSERT_EQ(destination, expected) << "trial " << trial;
  }
}

}  // namespace
}  // namespace reshard
