#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/demand/demand_builder.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/random_job.h"

namespace reshard {
namespace {

// Byte addresses of an entry in stream order, from its definition in schedules/copy_program.h.
std::vector<std::int64_t> BytesOfEntry(const CopyEntry& entry) {
  std::vector<std::int64_t> bytes;
  std::vector<std::int64_t> index(entry.dims.size(), 0);
  while (true) {
    std::int64_t at = entry.offset;
    for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * entry.dims[d].stride;
    for (std::int64_t b = 0; b < entry.run; ++b) bytes.push_back(at + b);
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == entry.dims[d - 1].count) index[--d] = 0;
    if (d == 0) return bytes;
  }
}

// Byte addresses of a fragment's elements in row-major order, straight from a region's definition.
std::vector<std::int64_t> BytesInRegion(const Fragment& fragment, const Region& region,
                                        std::int64_t element_bytes) {
  std::vector<std::int64_t> bytes;
  std::vector<std::int64_t> index(fragment.begin.begin(), fragment.begin.end());
  while (true) {
    std::int64_t at = region.offset;
    for (std::size_t k = 0; k < index.size(); ++k) {
      at += (index[k] - region.begin[k]) * region.stride[k];
    }
    for (std::int64_t b = 0; b < element_bytes; ++b) bytes.push_back(at * element_bytes + b);
    std::size_t k = index.size();
    while (k > 0 && ++index[k - 1] == fragment.begin[k - 1] + fragment.extent[k - 1]) {
      index[k - 1] = fragment.begin[k - 1];
      --k;
    }
    if (k == 0) return bytes;
  }
}

bool Contains(const Region& region, const Fragment& fragment) {
  if (region.tensor != fragment.tensor) return false;
  for (std::size_t k = 0; k < fragment.begin.size(); ++k) {
    if (fragment.begin[k] < region.begin[k] ||
        fragment.begin[k] + fragment.extent[k] > region.begin[k] + region.extent[k]) {
      return false;
    }
  }
  return true;
}

// Whether `entry` reads exactly the bytes of `fragment`, in order, from one of the regions (a
// source may hold a fragment twice) of the layout.
testing::AssertionResult Addresses(const CopyEntry& entry, const Fragment& fragment,
                                   const RankLayout& layout, std::int64_t element_bytes) {
  for (std::int64_t i = 0; i < layout.regions.size(); ++i) {
    const Region region = layout.regions[i];
    if (region.parameter != entry.parameter || !Contains(region, fragment)) continue;
    if (BytesOfEntry(entry) == BytesInRegion(fragment, region, element_bytes)) {
      return testing::AssertionSuccess();
    }
  }
  return testing::AssertionFailure()
         << "tensor " << fragment.tensor << " from " << testing::PrintToString(fragment.begin);
}

// Rank 0 holds 4 x 6 BF16; the destinations take columns [0, 4) and [4, 6) of it. Entry of the
// source for columns [0, 4): 4 rows of 8 bytes, 12 apart; for [4, 6): 4 rows of 4 bytes from 8. At
// the destinations both lie together.
TEST(ProgramBuilder, SourceStridedDestinationContiguous) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kBF16, {4, 6});
  builder.AddSource({{"w", {0, 0}, {4, 6}}});
  builder.AddDestination({{"w", {0, 0}, {4, 4}}});
  builder.AddDestination({{"w", {0, 4}, {4, 2}}});
  const Demand demand = BuildDemand(builder.job()).value();
  const std::vector<CopyProgram> programs = BuildPrograms(builder.job(), demand);
  ASSERT_EQ(programs.size(), 4U);
  const auto expect = [&](std::size_t p, LayoutIndex layout, ClassIndex c, std::int64_t offset,
                          std::int64_t run, const std::vector<CopyDim>& dims) {
    EXPECT_EQ(programs[p].layout, layout);
    EXPECT_EQ(programs[p].demand_class, c);
    ASSERT_EQ(programs[p].size(), 1);
    const CopyEntry entry = programs[p][0];
    EXPECT_EQ(entry.offset, offset);
    EXPECT_EQ(entry.run, run);
    EXPECT_TRUE(std::ranges::equal(entry.dims, dims));
  };
  expect(0, 0, 0, 0, 8, {{4, 12}});
  expect(1, 0, 1, 8, 4, {{4, 12}});
  expect(2, 1, 0, 0, 32, {});
  expect(3, 2, 1, 0, 16, {});
}

TEST(ProgramBuilder, ReplicasShareAProgramAndBothSidesOfARankHaveOne) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8});
  builder.AddSource({{"w", {0}, {8}}});
  builder.AddSource({{"w", {0}, {8}}});
  builder.AddBoth({{"w", {0}, {8}}}, {{"w", {4}, {4}}});
  const Demand demand = BuildDemand(builder.job()).value();
  const std::vector<CopyProgram> programs = BuildPrograms(builder.job(), demand);
  ASSERT_EQ(demand.classes.size(), 1U);
  ASSERT_EQ(programs.size(), 2U);
  EXPECT_EQ(programs[0].layout, 0);
  EXPECT_EQ(programs[1].layout, 1);
  EXPECT_EQ(programs[0][0].offset, 16);
  EXPECT_EQ(programs[1][0].offset, 0);
}

// The destination has elements 2..5 of 8 twice, the second time reversed in order of memory by
// being two regions: place 0 is the first region of the layout, place 1 what is left.
TEST(ProgramBuilder, OneProgramForEachPlaceOfTheDestination) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8});
  builder.AddSource({{"w", {0}, {8}}, {"w", {0}, {8}}});
  builder.AddDestination({{"w", {2}, {4}}, {"w", {2}, {4}}});
  const Demand demand = BuildDemand(builder.job()).value();
  const std::vector<CopyProgram> programs = BuildPrograms(builder.job(), demand);
  ASSERT_EQ(demand.classes.size(), 1U);
  EXPECT_EQ(demand.classes[0].bytes, 16);
  ASSERT_EQ(programs.size(), 3U);
  EXPECT_EQ(programs[0].layout, 0);  // the source is read at one place
  for (const std::size_t place : {0, 1}) {
    EXPECT_EQ(programs[1 + place].layout, 1);
    EXPECT_EQ(programs[1 + place][0].parameter, static_cast<ParameterIndex>(place));
    EXPECT_EQ(programs[1 + place][0].offset, 0);
    EXPECT_EQ(programs[1 + place][0].run, 16);
  }
  EXPECT_EQ(FindPrograms(programs, 1, 0).size(), 2U);
  EXPECT_TRUE(FindPrograms(programs, 1, 1).empty());
}

// Zeros of 2 rows of 3 F32, 8 elements apart, from element 4 on: 2 runs of 12 bytes from byte 16,
// 32 bytes apart. The source's zeros mean nothing.
TEST(ProgramBuilder, TheZerosOfADestinationLayoutAreAProgram) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {32});
  builder.AddSource({{"w", {0}, {32}}});
  builder.AddDestination({{"w", {0}, {4}}});
  builder.job().layouts[1].parameters[0].shape = {16};
  const std::vector<std::int64_t> begin{0, 0};
  const std::vector<std::int64_t> extent{2, 3};
  const std::vector<std::int64_t> stride{8, 1};
  builder.job().layouts[1].zeros.Add({kZeroTensor, 0, 4, begin, extent, stride});
  const Demand demand = BuildDemand(builder.job()).value();
  const std::vector<CopyProgram> programs = BuildPrograms(builder.job(), demand);
  ASSERT_EQ(programs.size(), 3U);
  EXPECT_EQ(programs[1].layout, 1);
  EXPECT_EQ(programs[1].demand_class, kZeroClass);
  ASSERT_EQ(programs[1].size(), 1);
  EXPECT_EQ(programs[1][0].offset, 16);
  EXPECT_EQ(programs[1][0].run, 12);
  EXPECT_TRUE(std::ranges::equal(programs[1][0].dims, std::vector<CopyDim>{{2, 32}}));
  EXPECT_EQ(programs[1].bytes(), 24);
  EXPECT_EQ(programs[2].demand_class, 0);
}

TEST(ProgramBuilder, EveryEntryAddressesItsFragmentByteByByte) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const JobRecords job = MakeRandomJob(seed).job;
    const Demand demand = BuildDemand(job).value();
    std::vector<CopyProgram> programs = BuildPrograms(job, demand);
    std::erase_if(programs, [](const CopyProgram& p) { return p.demand_class == kZeroClass; });
    std::vector<std::pair<LayoutIndex, ClassIndex>> expected;
    for (std::size_t c = 0; c < demand.classes.size(); ++c) {
      const DemandClass& record = demand.classes[c];
      for (const RankIndex h : demand.Holders(record)) {
        expected.emplace_back(job.ranks[static_cast<std::size_t>(h)].source_layout, c);
      }
      for (const RankIndex n : demand.Needers(record)) {
        expected.emplace_back(job.ranks[static_cast<std::size_t>(n)].destination_layout, c);
      }
    }
    std::ranges::sort(expected);
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    std::vector<std::pair<LayoutIndex, ClassIndex>> found;
    for (const CopyProgram& p : programs) found.emplace_back(p.layout, p.demand_class);
    ASSERT_TRUE(std::ranges::is_sorted(found));
    found.erase(std::unique(found.begin(), found.end()), found.end());
    ASSERT_EQ(found, expected);
    for (std::size_t p = 0; p < programs.size(); ++p) {
      const DemandClass& c = demand.classes[static_cast<std::size_t>(programs[p].demand_class)];
      const RankLayout& layout = job.layouts[static_cast<std::size_t>(programs[p].layout)];
      ASSERT_EQ(programs[p].size(), c.fragment_count);
      for (std::int64_t f = 0; f < c.fragment_count; ++f) {
        const Fragment fragment = demand.fragments[c.first_fragment + f];
        const DType dtype = job.tensors[static_cast<std::size_t>(fragment.tensor)].dtype;
        ASSERT_EQ(programs[p][f].bytes(), fragment.bytes);
        ASSERT_TRUE(Addresses(programs[p][f], fragment, layout, ElementBytes(dtype)));
      }
    }
  }
}

}  // namespace
}  // namespace reshard
