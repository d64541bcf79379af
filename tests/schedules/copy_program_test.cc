#include "schedules/copy_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace reshard {
namespace {

using Longs = std::vector<std::int64_t>;

struct OwnedRegion {
  Longs begin, extent, stride;
  std::int64_t offset = 0;
  Region view() const { return {0, 3, offset, begin, extent, stride}; }
};

CopyProgram ProgramOf(const Longs& begin, const Longs& extent, const OwnedRegion& region,
                      std::int64_t element_bytes) {
  CopyProgram program;
  AppendEntry({0, 0, begin, extent}, region.view(), element_bytes, program);
  return program;
}

// Byte addresses of an entry in stream order, by the definition in copy_program.h.
Longs Addresses(const CopyEntry& entry) {
  Longs addresses{entry.offset};
  for (const CopyDim& dim : entry.dims) {
    Longs next;
    for (const std::int64_t base : addresses) {
      for (std::int64_t i = 0; i < dim.count; ++i) next.push_back(base + i * dim.stride);
    }
    addresses = next;
  }
  Longs bytes;
  for (const std::int64_t base : addresses) {
    for (std::int64_t i = 0; i < entry.run; ++i) bytes.push_back(base + i);
  }
  return bytes;
}

// The same from the region's own definition, element by element.
Longs ElementAddresses(const Longs& begin, const Longs& extent, const OwnedRegion& region,
                       std::int64_t element_bytes) {
  Longs elements{region.offset};
  for (std::size_t k = 0; k < extent.size(); ++k) {
    Longs next;
    for (const std::int64_t base : elements) {
      for (std::int64_t i = 0; i < extent[k]; ++i) {
        next.push_back(base + (begin[k] - region.begin[k] + i) * region.stride[k]);
      }
    }
    elements = next;
  }
  Longs bytes;
  for (const std::int64_t element : elements) {
    for (std::int64_t i = 0; i < element_bytes; ++i) bytes.push_back(element * element_bytes + i);
  }
  return bytes;
}

TEST(CopyProgramTest, WholeRowsAreOneRun) {
  // Rows 2..3 of a region that holds rows 1..4 of an 8-wide tensor from element 16 on: the first
  // element is 16 + (2 - 1) * 8 = 24, 16 elements of 2 bytes follow each other.
  const CopyProgram program =
      ProgramOf({2, 0}, {2, 8}, {{1, 0}, {4, 8}, {8, 1}, 16}, /*element_bytes=*/2);
  ASSERT_EQ(program.size(), 1);
  EXPECT_EQ(program[0].parameter, 3);
  EXPECT_EQ(program[0].offset, 48);
  EXPECT_EQ(program[0].run, 32);
  EXPECT_TRUE(program[0].dims.empty());
}

TEST(CopyProgramTest, AColumnSliceIsRunsOfItsWidth) {
  // Columns 4..6 of 3 rows, rows 10 elements apart: runs of 3 * 4 bytes every 40.
  const CopyProgram program =
      ProgramOf({0, 4}, {3, 3}, {{0, 0}, {3, 10}, {10, 1}, 0}, /*element_bytes=*/4);
  EXPECT_EQ(program[0].offset, 16);
  EXPECT_EQ(program[0].run, 12);
  ASSERT_EQ(program[0].dims.size(), 1U);
  EXPECT_EQ(program[0].dims[0], (CopyDim{3, 40}));
}

TEST(CopyProgramTest, OuterDimsThatFollowEachOtherAreOne) {
  // [2, 3, 4] in memory with rows 5 elements apart, planes 15: the two outer dims are one of 6.
  const CopyProgram program =
      ProgramOf({0, 0, 0}, {2, 3, 4}, {{0, 0, 0}, {2, 3, 4}, {15, 5, 1}, 0}, /*element_bytes=*/1);
  EXPECT_EQ(program[0].run, 4);
  ASSERT_EQ(program[0].dims.size(), 1U);
  EXPECT_EQ(program[0].dims[0], (CopyDim{6, 5}));
}

TEST(CopyProgramTest, ATransposedTensorIsElementRuns) {
  const CopyProgram program =
      ProgramOf({0, 0}, {2, 3}, {{0, 0}, {2, 3}, {1, 2}, 0}, /*element_bytes=*/2);
  EXPECT_EQ(program[0].run, 2);
  EXPECT_EQ(Addresses(program[0]), (Longs{0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11}));
}

TEST(CopyProgramTest, AScalarIsOneElement) {
  const CopyProgram program = ProgramOf({}, {}, {{}, {}, {}, 7}, /*element_bytes=*/8);
  EXPECT_EQ(program[0].offset, 56);
  EXPECT_EQ(program[0].run, 8);
  EXPECT_EQ(program[0].bytes(), 8);
}

TEST(CopyProgramTest, RandomEntriesAddressWhatTheRegionSays) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto pick = [&random](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 2000; ++trial) {
    const auto dims = static_cast<std::size_t>(pick(0, 5));
    OwnedRegion region;
    Longs begin;
    Longs extent;
    // Memory order is a random permutation of the dims, each with a little padding or none.
    region.begin.resize(dims);
    region.extent.resize(dims);
    region.stride.resize(dims);
    std::vector<std::size_t> order(dims);
    for (std::size_t k = 0; k < dims; ++k) order[k] = k;
    if (pick(0, 1) == 1) std::shuffle(order.begin(), order.end(), random);
    std::int64_t stride = 1;
    for (std::size_t i = dims; i-- > 0;) {
      const std::size_t k = order[i];
      region.begin[k] = pick(0, 9);
      region.extent[k] = pick(1, 4);
      region.stride[k] = stride;
      stride *= region.extent[k] + pick(0, 2) / 2;
    }
    region.offset = pick(0, 20);
    for (std::size_t k = 0; k < dims; ++k) {
      const std::int64_t skip = pick(0, region.extent[k] - 1);
      begin.push_back(region.begin[k] + skip);
      extent.push_back(pick(1, region.extent[k] - skip));
    }
    const std::int64_t element_bytes = std::int64_t{1} << pick(0, 3);
    const CopyProgram program = ProgramOf(begin, extent, region, element_bytes);
    ASSERT_EQ(program.size(), 1);
    EXPECT_EQ(Addresses(program[0]), ElementAddresses(begin, extent, region, element_bytes))
        << "trial " << trial;
    // Nothing is left to merge: neighbours neither follow each other nor count one.
    const CopyEntry entry = program[0];
    std::int64_t inner = entry.run;
    for (std::size_t d = entry.dims.size(); d-- > 0;) {
      EXPECT_GT(entry.dims[d].count, 1);
      EXPECT_NE(entry.dims[d].stride, inner);
      inner = entry.dims[d].stride * entry.dims[d].count;
    }
  }
}

}  // namespace
}  // namespace reshard
