#include "runtime/stream_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/runtime/byte_pairs.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;
using Longs = std::vector<std::int64_t>;

TEST(StreamWindowTest, SplitsAMatrixIntoHeadMiddleAndTail) {
  // 4 rows of 6 bytes, 10 apart; bytes [4, 20) of the stream: the last 2 of row 0, rows 1 and 2
  // whole, the first 2 of row 3. Packed to staging byte 100.
  CopyProgram program;
  program.Add(0, 3, 6, std::vector<CopyDim>{{4, 10}});
  const ProgramStream stream = *ProgramStream::Make(program, 1);
  CopyTable table;
  AddPack(stream, 5, {4, 20}, 0, 100, table);
  ASSERT_EQ(table.size(), 3);
  EXPECT_EQ(table[0].source_base, 5);
  EXPECT_EQ(table[0].source_offset, 3 + 4);
  EXPECT_EQ(table[0].destination_offset, 100);
  EXPECT_EQ(table[0].run, 2);
  EXPECT_EQ(table[1].source_offset, 13);
  EXPECT_EQ(table[1].destination_offset, 102);
  EXPECT_EQ(table[1].run, 6);
  ASSERT_EQ(table[1].dims.size(), 1u);
  EXPECT_EQ(table[1].dims[0], (StridedDim{2, 10, 6}));
  EXPECT_EQ(table[2].source_offset, 33);
  EXPECT_EQ(table[2].destination_offset, 114);
  EXPECT_EQ(table[2].run, 2);
}

TEST(StreamWindowTest, PassesOverEmptyEntries) {
  CopyProgram program;
  program.Add(0, 0, 4, {});
  program.Add(0, 90, 0, {});
  program.Add(0, 50, 4, {});
  const ProgramStream stream = *ProgramStream::Make(program, 1);
  EXPECT_EQ(stream.bytes(), 8);
  CopyTable table;
  AddUnpack(stream, 1, {4, 6}, 0, 0, table);
  ASSERT_EQ(table.size(), 1);
  EXPECT_EQ(table[0].destination_offset, 50);
  EXPECT_EQ(table.bytes(), 2);
}

TEST(StreamWindowTest, RefusesEntriesThatAreNoBoxes) {
  const auto reason = [](std::int64_t offset, std::int64_t run, std::vector<CopyDim> dims,
                         ParameterIndex parameter = 0) {
    CopyProgram program;
    program.Add(parameter, offset, run, dims);
    const Result<ProgramStream> stream = ProgramStream::Make(program, 1);
    return stream ? std::string("fine") : stream.error().reason;
  };
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(reason(0, 4, {{2, 4}}), "fine");
  EXPECT_THAT(reason(-1, 4, {}), HasSubstr("no box"));
  EXPECT_THAT(reason(0, -4, {}), HasSubstr("no box"));
  EXPECT_THAT(reason(0, 4, {{-1, 4}}), HasSubstr("no box"));
  EXPECT_THAT(reason(0, 4, {{2, -4}}), HasSubstr("no box"));
  EXPECT_THAT(reason(0, 4, {{huge, 4}}), HasSubstr("no box"));
  EXPECT_THAT(reason(0, 4, {{4, huge}}), HasSubstr("no box"));
  EXPECT_THAT(reason(huge, 4, {{1, huge}}), HasSubstr("no box"));
  EXPECT_THAT(reason(0, 4, {}, 1), HasSubstr("parameter 1 does not exist"));
}

TEST(StreamWindowTest, RefusesToMoveBetweenDifferentFragments) {
  CopyProgram rows;
  rows.Add(0, 0, 4, std::vector<CopyDim>{{6, 4}});
  CopyProgram other;
  other.Add(0, 0, 6, std::vector<CopyDim>{{4, 8}});  // as many bytes, but 4 and 6 share no grid
  CopyProgram shorter;
  shorter.Add(0, 0, 4, {});
  const ProgramStream rows_stream = *ProgramStream::Make(rows, 1);
  const ProgramStream other_stream = *ProgramStream::Make(other, 1);
  const ProgramStream shorter_stream = *ProgramStream::Make(shorter, 1);
  CopyTable table;
  // The rows are dense, so they are one run of 24 to whoever walks them; spread, they are not.
  CopyProgram spread;
  spread.Add(0, 0, 4, std::vector<CopyDim>{{6, 5}});
  const ProgramStream spread_stream = *ProgramStream::Make(spread, 1);
  EXPECT_FALSE(AddMove(spread_stream, 1, other_stream, 2, {0, 24}, table));
  EXPECT_FALSE(AddMove(rows_stream, 1, shorter_stream, 2, {0, 4}, table));
}

// A parameter that holds a random fragment: some order of dims, gaps between indices.
struct RandomPlace {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> extent;
  std::vector<std::int64_t> stride;
  std::int64_t offset = 0;
  Region AsRegion() const { return {0, 0, offset, begin, extent, stride}; }
};

RandomPlace DrawPlace(const Longs& begin, const Longs& extent, std::mt19937_64& random) {
  RandomPlace place = {begin, extent, Longs(extent.size(), 0),
                       static_cast<std::int64_t>(random() % 5)};
  std::vector<std::size_t> order(extent.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (random() % 2 == 0) std::shuffle(order.begin(), order.end(), random);
  std::int64_t stride = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    if (random() % 3 == 0) stride += static_cast<std::int64_t>(random() % 4);
    place.stride[*d] = stride;
    stride *= extent[*d];
  }
  return place;
}

// All three kinds of window against the byte addresses that the regions define.
TEST(StreamWindowTest, RandomWindowsEqualByteByByte) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 1500; ++trial) {
    CopyProgram source_program;
    CopyProgram destination_program;
    std::vector<ByteAddress> source_bytes;
    std::vector<ByteAddress> destination_bytes;
    for (std::int64_t fragments = draw(1, 4); fragments > 0; --fragments) {
      const std::int64_t element_bytes = std::int64_t{1} << draw(0, 3);
      Longs begin;
      Longs extent;
      std::int64_t bytes = element_bytes;
      for (std::int64_t dims = draw(0, 4); dims > 0; --dims) {
        begin.push_back(draw(0, 3));
        extent.push_back(draw(1, 4));
        bytes *= extent.back();
      }
      const Fragment fragment = {0, bytes, begin, extent};
      const RandomPlace source = DrawPlace(begin, extent, random);
      const RandomPlace destination = DrawPlace(begin, extent, random);
      AppendEntry(fragment, source.AsRegion(), element_bytes, source_program);
      AppendEntry(fragment, destination.AsRegion(), element_bytes, destination_program);
      const auto add = [&](std::vector<ByteAddress>& all, const RandomPlace& place,
                           BaseIndex base) {
        const std::vector<ByteAddress> some =
            FragmentBytes(fragment, place.AsRegion(), element_bytes, base);
        all.insert(all.end(), some.begin(), some.end());
      };
      add(source_bytes, source, 1);
      add(destination_bytes, destination, 2);
    }
    const ProgramStream source = *ProgramStream::Make(source_program, 1);
    const ProgramStream destination = *ProgramStream::Make(destination_program, 1);
    ASSERT_EQ(source.bytes(), static_cast<std::int64_t>(source_bytes.size()));
    const std::int64_t begin = draw(0, source.bytes());
    const ByteRange window = {begin, draw(begin, source.bytes())};

    CopyTable pack;
    CopyTable unpack;
    CopyTable move;
    AddPack(source, 1, window, 0, 7, pack);
    AddUnpack(destination, 2, window, 0, 7, unpack);
    ASSERT_TRUE(AddMove(source, 1, destination, 2, window, move));
    std::multiset<BytePair> packed;
    std::multiset<BytePair> unpacked;
    std::multiset<BytePair> moved;
    for (std::int64_t b = window.begin; b < window.end; ++b) {
      const auto i = static_cast<std::size_t>(b);
      const ByteAddress staging = {0, 7 + b - window.begin};
      packed.insert({source_bytes[i], staging});
      unpacked.insert({staging, destination_bytes[i]});
      moved.insert({source_bytes[i], destination_bytes[i]});
    }
    ASSERT_EQ(ExpandCopies(pack), packed) << "trial " << trial;
    ASSERT_EQ(ExpandCopies(unpack), unpacked) << "trial " << trial;
    ASSERT_EQ(ExpandCopies(move), moved) << "trial " << trial;
  }
}

// A cut box is a handful of boxes: at most two a dim and one in the middle.
TEST(StreamWindowTest, AWindowCostsAFewCopies) {
  CopyProgram program;
  program.Add(0, 0, 8, std::vector<CopyDim>{{100, 100000}, {100, 1000}, {100, 9}});
  const ProgramStream stream = *ProgramStream::Make(program, 1);
  CopyTable table;
  AddPack(stream, 1, {12345, 7654321}, 0, 0, table);
  EXPECT_LE(table.size(), 2 * 4 + 1);
  EXPECT_EQ(table.bytes(), 7654321 - 12345);
}

}  // namespace
}  // namespace reshard
