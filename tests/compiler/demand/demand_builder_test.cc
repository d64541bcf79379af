#include "compiler/demand/demand_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/random_draws.h"
#include "tests/compiler/random_job.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What the demand says about a class, for comparison with values worked out by hand.
struct ClassFacts {
  std::vector<RankIndex> holders;
  std::vector<RankIndex> needers;
  std::int64_t bytes = 0;
  std::int64_t fragments = 0;
  bool operator==(const ClassFacts&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const ClassFacts& facts) {
    return out << testing::PrintToString(facts.holders) << " -> "
               << testing::PrintToString(facts.needers) << ": " << facts.bytes << " bytes in "
               << facts.fragments;
  }
};

std::vector<ClassFacts> FactsOf(const Demand& demand) {
  std::vector<ClassFacts> facts;
  for (const DemandClass& c : demand.classes) {
    const auto holders = demand.Holders(c);
    const auto needers = demand.Needers(c);
    facts.push_back({{holders.begin(), holders.end()},
                     {needers.begin(), needers.end()},
                     c.bytes,
                     c.fragment_count});
  }
  return facts;
}

using Indices = std::vector<std::int64_t>;
using BoxOfFragment = std::pair<Indices, Indices>;

std::vector<BoxOfFragment> BoxesOf(const Demand& demand) {
  std::vector<BoxOfFragment> boxes;
  for (std::int64_t f = 0; f < demand.fragments.size(); ++f) {
    const Fragment fragment = demand.fragments[f];
    boxes.push_back({{fragment.begin.begin(), fragment.begin.end()},
                     {fragment.extent.begin(), fragment.extent.end()}});
  }
  return boxes;
}

// 6 rows of 2 elements; sources hold rows [0, 3) and [3, 6), destinations [0, 2), [2, 4), [4, 6).
// The cuts 0 2 3 4 6 make four cells, each with another pair of holder and needer.
TEST(DemandBuilder, CutsWhereEitherSideDoes) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kBF16, {6, 2});
  builder.AddSource({{"w", {0, 0}, {3, 2}}});
  builder.AddSource({{"w", {3, 0}, {3, 2}}});
  for (const std::int64_t row : {0, 2, 4}) builder.AddDestination({{"w", {row, 0}, {2, 2}}});
  const Demand demand = BuildDemand(builder.job()).value();
  EXPECT_THAT(FactsOf(demand), ElementsAre(ClassFacts{{0}, {2}, 8, 1}, ClassFacts{{0}, {3}, 4, 1},
                                           ClassFacts{{1}, {3}, 4, 1}, ClassFacts{{1}, {4}, 8, 1}));
  EXPECT_THAT(BoxesOf(demand),
              ElementsAre(BoxOfFragment{{0, 0}, {2, 2}}, BoxOfFragment{{2, 0}, {1, 2}},
                          BoxOfFragment{{3, 0}, {1, 2}}, BoxOfFragment{{4, 0}, {2, 2}}));
}

// A source of 2 x 2 tiles of 2 x 2, a destination that takes it whole: four classes, one fragment
// each, since each tile has a holder of its own; with one holder of all four tiles there is one
// class, yet four fragments: a fragment lies inside one region.
TEST(DemandBuilder, FragmentsLieInsideOneRegion) {
  JobRecordsBuilder apart;
  JobRecordsBuilder together;
  std::vector<TestBox> tiles;
  for (JobRecordsBuilder* builder : {&apart, &together}) {
    builder->AddTensor("w", DType::kF32, {4, 4});
  }
  for (const std::int64_t row : {0, 2}) {
    for (const std::int64_t column : {0, 2}) {
      tiles.push_back({"w", {row, column}, {2, 2}});
      apart.AddSource({tiles.back()});
    }
  }
  together.AddSource(tiles);
  for (JobRecordsBuilder* builder : {&apart, &together}) {
    builder->AddDestination({{"w", {0, 0}, {4, 4}}});
  }
  EXPECT_THAT(FactsOf(BuildDemand(apart.job()).value()),
              ElementsAre(ClassFacts{{0}, {4}, 16, 1}, ClassFacts{{1}, {4}, 16, 1},
                          ClassFacts{{2}, {4}, 16, 1}, ClassFacts{{3}, {4}, 16, 1}));
  EXPECT_THAT(FactsOf(BuildDemand(together.job()).value()),
              ElementsAre(ClassFacts{{0}, {1}, 64, 4}));
}

// Destination 1 takes the middle 2 x 2 of 4 x 4, destination 2 everything. What destination 2 alone
// takes is a frame; joined along the last dim first it is the rows above and below in full width
// and, on the two rows between, the column left and right.
TEST(DemandBuilder, JoinsAlongTheLastDimFirst) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {4, 4});
  builder.AddSource({{"w", {0, 0}, {4, 4}}});
  builder.AddDestination({{"w", {1, 1}, {2, 2}}});
  builder.AddDestination({{"w", {0, 0}, {4, 4}}});
  const Demand demand = BuildDemand(builder.job()).value();
  EXPECT_THAT(FactsOf(demand),
              ElementsAre(ClassFacts{{0}, {1, 2}, 4, 1}, ClassFacts{{0}, {2}, 12, 4}));
  EXPECT_THAT(BoxesOf(demand),
              ElementsAre(BoxOfFragment{{1, 1}, {2, 2}}, BoxOfFragment{{0, 0}, {1, 4}},
                          BoxOfFragment{{1, 0}, {2, 1}}, BoxOfFragment{{1, 3}, {2, 1}},
                          BoxOfFragment{{3, 0}, {1, 4}}));
}

// All tensors of equal holders and needers are one class; fragments whose bytes are a multiple of
// 16 come first, so that those behind start aligned: 3 bytes of "a" after 16 of "b" and 32 of "c".
TEST(DemandBuilder, ClassesSpanTensorsAndKeepAlignedFragmentsInFront) {
  JobRecordsBuilder builder;
  builder.AddTensor("a", DType::kU8, {3});
  builder.AddTensor("b", DType::kF64, {2});
  builder.AddTensor("c", DType::kF32, {8});
  const std::vector<TestBox> all{{"a", {0}, {3}}, {"b", {0}, {2}}, {"c", {0}, {8}}};
  builder.AddSource(all);
  builder.AddSource(all);
  builder.AddDestination(all);
  const Demand demand = BuildDemand(builder.job()).value();
  EXPECT_THAT(FactsOf(demand), ElementsAre(ClassFacts{{0, 1}, {2}, 51, 3}));
  EXPECT_EQ(demand.fragments[0].tensor, 1);
  EXPECT_EQ(demand.fragments[1].tensor, 2);
  EXPECT_EQ(demand.fragments[2].tensor, 0);
}

TEST(DemandBuilder, ScalarsAndTensorsOfEightDims) {
  JobRecordsBuilder builder;
  builder.AddTensor("scalar", DType::kF32, {});
  builder.AddTensor("wide", DType::kI64, {2, 1, 3, 1, 2, 1, 1, 2});
  builder.AddSource(
      {{"scalar", {}, {}}, {"wide", {0, 0, 0, 0, 0, 0, 0, 0}, {2, 1, 3, 1, 2, 1, 1, 2}}});
  builder.AddDestination(
      {{"scalar", {}, {}}, {"wide", {1, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 3, 1, 2, 1, 1, 2}}});
  // 4 bytes and 1 * 3 * 2 * 2 elements of 8 bytes.
  EXPECT_THAT(FactsOf(BuildDemand(builder.job()).value()),
              ElementsAre(ClassFacts{{0}, {1}, 4 + 96, 2}));
}

// Case C3: 5 rows over 4 ranks in chunks of 2 are 2, 2, 1, 0; the last rank holds nothing at all.
TEST(DemandBuilder, EmptyShardsHoldAndNeedNothing) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kBF16, {5, 4});
  builder.AddTensor("none", DType::kBF16, {0, 4});
  for (const auto& [row, rows] : {std::pair{0, 2}, {2, 2}, {4, 1}}) {
    builder.AddSource({{"w", {row, 0}, {rows, 4}}});
  }
  builder.AddSource({});
  builder.AddDestination({{"w", {0, 0}, {5, 4}}});
  builder.AddDestination({});
  EXPECT_THAT(FactsOf(BuildDemand(builder.job()).value()),
              ElementsAre(ClassFacts{{0}, {4}, 16, 1}, ClassFacts{{1}, {4}, 16, 1},
                          ClassFacts{{2}, {4}, 8, 1}));
}

TEST(DemandBuilder, NothingNeededIsNoClass) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kBF16, {4});
  builder.AddSource({{"w", {0}, {4}}});
  builder.AddDestination({});
  const Demand demand = BuildDemand(builder.job()).value();
  EXPECT_TRUE(demand.classes.empty());
  EXPECT_EQ(demand.fragments.size(), 0);
}

// Case C1: 131072 x 131072 of one byte, S(0) -> S(1) over 4 each: 16 classes of 2^30 bytes.
TEST(DemandBuilder, SizesBeyond32Bits) {
  constexpr std::int64_t kSide = 131072;
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kSide, kSide});
  for (std::int64_t i = 0; i < 4; ++i) {
    builder.AddSource({{"w", {i * kSide / 4, 0}, {kSide / 4, kSide}}});
  }
  for (std::int64_t i = 0; i < 4; ++i) {
    builder.AddDestination({{"w", {0, i * kSide / 4}, {kSide, kSide / 4}}});
  }
  const Demand demand = BuildDemand(builder.job()).value();
  ASSERT_EQ(demand.classes.size(), 16U);
  for (const DemandClass& c : demand.classes) EXPECT_EQ(c.bytes, std::int64_t{1} << 30);
}

// Case C14: 20 sources of one destination shard, and 70 destinations of one source shard.
TEST(DemandBuilder, ManySourcesAndManyDestinationsOfOneShard) {
  JobRecordsBuilder builder;
  builder.AddTensor("gathered", DType::kBF16, {20, 2});
  builder.AddTensor("spread", DType::kBF16, {70, 2});
  for (std::int64_t i = 0; i < 20; ++i) {
    std::vector<TestBox> boxes{{"gathered", {i, 0}, {1, 2}}};
    if (i == 0) boxes.push_back({"spread", {0, 0}, {70, 2}});
    builder.AddSource(boxes);
  }
  for (std::int64_t i = 0; i < 70; ++i) {
    std::vector<TestBox> boxes{{"spread", {i, 0}, {1, 2}}};
    if (i == 0) boxes.push_back({"gathered", {0, 0}, {20, 2}});
    builder.AddDestination(boxes);
  }
  // Rank 20 needs 20 rows of 4 bytes and one of "spread", whose holder 0 also holds row 0.
  const Demand demand = BuildDemand(builder.job()).value();
  EXPECT_EQ(demand.classes.size(), 20U + 69U);
  EXPECT_EQ(demand.classes[0].bytes, 8);
  EXPECT_EQ(FactsOf(demand)[0], (ClassFacts{{0}, {20}, 8, 2}));
}

TEST(DemandBuilder, RefusesABoxThatNoSourceHolds) {
  JobRecordsBuilder builder;
  builder.AddTensor("model.norm", DType::kBF16, {8, 4});
  builder.AddSource({{"model.norm", {0, 0}, {4, 4}}});
  builder.AddDestination({{"model.norm", {2, 0}, {4, 4}}});
  const Result<Demand> demand = BuildDemand(builder.job());
  ASSERT_FALSE(demand);
  EXPECT_EQ(demand.error().fault, Fault::kInput);
  EXPECT_EQ(demand.error().place, "tensor 'model.norm' [4:6, 0:4]");
  EXPECT_THAT(demand.error().reason, HasSubstr("no source rank holds it"));
}

// The destination has elements 3 and 4 twice and the others once: two classes, since a class has
// equally many places, and each byte counts once.
TEST(DemandBuilder, ABoxAtTwoPlacesOfADestinationRankIsAClassOfItsOwn) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kBF16, {8});
  builder.AddSource({{"w", {0}, {8}}});
  builder.AddDestination({{"w", {0}, {5}}, {"w", {3}, {5}}});
  EXPECT_THAT(FactsOf(BuildDemand(builder.job()).value()),
              ElementsAre(ClassFacts{{0}, {1}, 12, 2}, ClassFacts{{0}, {1}, 4, 1}));
}

// On the source side any place will do: one class.
TEST(DemandBuilder, ABoxAtTwoPlacesOfASourceRankIsNoClassOfItsOwn) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kBF16, {8});
  builder.AddSource({{"w", {0}, {5}}, {"w", {3}, {5}}});
  builder.AddDestination({{"w", {0}, {8}}});
  const Demand demand = BuildDemand(builder.job()).value();
  ASSERT_EQ(demand.classes.size(), 1u);
  EXPECT_EQ(demand.classes[0].bytes, 16);
}

// Two tensors of one rank on both sides; only "a" shares memory, so only "a" is in place.
TEST(DemandBuilder, BytesInPlaceAreAClassOfTheirOwn) {
  JobRecordsBuilder builder;
  builder.AddTensor("a", DType::kBF16, {8});
  builder.AddTensor("b", DType::kBF16, {8});
  const std::vector<TestBox> whole{{"a", {0}, {8}}, {"b", {0}, {8}}};
  builder.AddBoth(whole, whole);
  EXPECT_THAT(FactsOf(BuildDemand(builder.job()).value()),
              ElementsAre(ClassFacts{{0}, {0}, 32, 2}));
  builder.ShareMemory("a", "a");
  EXPECT_THAT(FactsOf(BuildDemand(builder.job()).value()),
              ElementsAre(ClassFacts{{0}, {0}, 16, 1}, ClassFacts{{0}, {0}, 16, 1}));
}

// Both ranks hold and need "w" and share its memory. Rank 0 has rows 0-3 of 8 at byte 0 and wants
// all 8 there: rows 0-3 stay. Rank 1 has rows 4-7 at byte 0 and wants them behind rows 0-3: they
// must move, so rows 0-3 (in place for 0) and rows 4-7 (not for 1) are classes of unequal flags.
TEST(DemandBuilder, SharedMemoryAtAnotherPlaceIsNotInPlace) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kBF16, {8});
  builder.AddTensor("x", DType::kBF16, {8});
  for (const std::int64_t row : {0, 4}) {
    builder.AddBoth({{"w", {row}, {4}}, {"x", {row}, {4}}}, {{"w", {0}, {8}}, {"x", {0}, {8}}});
  }
  EXPECT_THAT(FactsOf(BuildDemand(builder.job()).value()),
              ElementsAre(ClassFacts{{0}, {0, 1}, 16, 2}, ClassFacts{{1}, {0, 1}, 16, 2}));
  builder.ShareMemory("w", "w");
  // Rows 0-3 of "w" leave those of "x"; rows 4-7 of both move alike and stay together.
  EXPECT_THAT(FactsOf(BuildDemand(builder.job()).value()),
              ElementsAre(ClassFacts{{0}, {0, 1}, 8, 1}, ClassFacts{{0}, {0, 1}, 8, 1},
                          ClassFacts{{1}, {0, 1}, 16, 2}));
}

// The oracle: every element of every tensor is painted with the ranks that hold and need it, read
// straight off the regions; the demand must say the same of every element, once.
class Painting {
 public:
  explicit Painting(const JobRecords& job) : job_(job) {
    for (std::size_t r = 0; r < job.ranks.size(); ++r) {
      Paint(static_cast<RankIndex>(r), job.ranks[r].source_layout, holders_);
      Paint(static_cast<RankIndex>(r), job.ranks[r].destination_layout, needers_);
    }
  }

  using Element = std::pair<TensorIndex, Indices>;
  const std::map<Element, std::set<RankIndex>>& holders() const { return holders_; }
  const std::map<Element, std::set<RankIndex>>& needers() const { return needers_; }

  template <typename Visit>
  static void ForEach(std::span<const std::int64_t> begin, std::span<const std::int64_t> extent,
                      const Visit& visit) {
    Indices index(begin.begin(), begin.end());
    while (true) {
      visit(index);
      std::size_t k = index.size();
      while (k > 0 && ++index[k - 1] == begin[k - 1] + extent[k - 1]) {
        index[k - 1] = begin[k - 1];
        --k;
      }
      if (k == 0) return;
    }
  }

 private:
  void Paint(RankIndex rank, LayoutIndex layout, std::map<Element, std::set<RankIndex>>& sets) {
    if (layout == kNoLayout) return;
    const RegionTable& regions = job_.layouts[static_cast<std::size_t>(layout)].regions;
    for (std::int64_t i = 0; i < regions.size(); ++i) {
      const Region region = regions[i];
      ForEach(region.begin, region.extent, [&](const Indices& index) {
        sets[{region.tensor, index}].insert(rank);
      });
    }
  }

  const JobRecords& job_;
  std::map<Element, std::set<RankIndex>> holders_;
  std::map<Element, std::set<RankIndex>> needers_;
};

// The regions of a layout that contain a box.
std::vector<std::int64_t> RegionsAround(const RankLayout& layout, const Fragment& fragment) {
  std::vector<std::int64_t> around;
  for (std::int64_t i = 0; i < layout.regions.size(); ++i) {
    const Region region = layout.regions[i];
    bool inside = region.tensor == fragment.tensor;
    for (std::size_t k = 0; inside && k < fragment.begin.size(); ++k) {
      inside = fragment.begin[k] >= region.begin[k] &&
               fragment.begin[k] + fragment.extent[k] <= region.begin[k] + region.extent[k];
    }
    if (inside) around.push_back(i);
  }
  return around;
}

// Regions around a fragment in the layouts of all its holders and needers; each must have one.
std::vector<std::vector<std::int64_t>> Surroundings(const JobRecords& job, const Demand& demand,
                                                    const DemandClass& c,
                                                    const Fragment& fragment) {
  std::vector<std::vector<std::int64_t>> around;
  for (const RankIndex h : demand.Holders(c)) {
    const LayoutIndex layout = job.ranks[static_cast<std::size_t>(h)].source_layout;
    around.push_back(RegionsAround(job.layouts[static_cast<std::size_t>(layout)], fragment));
  }
  for (const RankIndex n : demand.Needers(c)) {
    const LayoutIndex layout = job.ranks[static_cast<std::size_t>(n)].destination_layout;
    around.push_back(RegionsAround(job.layouts[static_cast<std::size_t>(layout)], fragment));
  }
  return around;
}

void CheckAgainstPainting(const JobRecords& job, const Demand& demand) {
  const Painting painting(job);
  std::map<Painting::Element, int> seen;
  std::int64_t row = 0;
  for (const DemandClass& c : demand.classes) {
    const std::set<RankIndex> holders(demand.Holders(c).begin(), demand.Holders(c).end());
    const std::set<RankIndex> needers(demand.Needers(c).begin(), demand.Needers(c).end());
    ASSERT_EQ(c.first_fragment, row);
    std::int64_t bytes = 0;
    for (; row < c.first_fragment + c.fragment_count; ++row) {
      const Fragment fragment = demand.fragments[row];
      const std::int64_t element =
          ElementBytes(job.tensors[static_cast<std::size_t>(fragment.tensor)].dtype);
      std::int64_t elements = 0;
      Painting::ForEach(fragment.begin, fragment.extent, [&](const Indices& index) {
        ++elements;
        ++seen[{fragment.tensor, index}];
        ASSERT_EQ(painting.holders().at({fragment.tensor, index}), holders);
        ASSERT_EQ(painting.needers().at({fragment.tensor, index}), needers);
      });
      ASSERT_EQ(fragment.bytes, elements * element);
      bytes += fragment.bytes;
      for (const auto& regions : Surroundings(job, demand, c, fragment)) {
        ASSERT_FALSE(regions.empty()) << "a fragment lies in no single region";
      }
    }
    ASSERT_EQ(c.bytes, bytes);
  }
  ASSERT_EQ(row, demand.fragments.size());
  for (const auto& [element, needers] : painting.needers()) ASSERT_EQ(seen[element], 1);
  ASSERT_EQ(seen.size(), painting.needers().size());
}

// Two fragments of one class that follow each other along the last dim lie in different regions
// somewhere, or they would be one.
void CheckJoinedAlongLastDim(const JobRecords& job, const Demand& demand) {
  for (const DemandClass& c : demand.classes) {
    for (std::int64_t i = c.first_fragment; i < c.first_fragment + c.fragment_count; ++i) {
      for (std::int64_t j = c.first_fragment; j < c.first_fragment + c.fragment_count; ++j) {
        const Fragment a = demand.fragments[i];
        const Fragment b = demand.fragments[j];
        if (i == j || a.tensor != b.tensor || a.begin.empty()) continue;
        const std::size_t last = a.begin.size() - 1;
        bool follows = a.begin[last] + a.extent[last] == b.begin[last];
        for (std::size_t k = 0; k < last; ++k) {
          follows = follows && a.begin[k] == b.begin[k] && a.extent[k] == b.extent[k];
        }
        if (!follows) continue;
        EXPECT_NE(Surroundings(job, demand, c, a), Surroundings(job, demand, c, b))
            << "fragments " << i << " and " << j << " are not joined";
      }
    }
  }
}

TEST(DemandBuilder, AgreesWithPaintingEveryElement) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomJob random = MakeRandomJob(seed);
    const Result<Demand> demand = BuildDemand(random.job);
    ASSERT_TRUE(demand) << ToString(demand.error());
    CheckAgainstPainting(random.job, *demand);
    CheckJoinedAlongLastDim(random.job, *demand);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Classes are distinct, sets interned, both in an order that only the job decides.
TEST(DemandBuilder, ClassesAreDistinctAndRepeatable) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomJob random = MakeRandomJob(seed);
    const Demand demand = BuildDemand(random.job).value();
    EXPECT_EQ(demand, BuildDemand(random.job).value());
    const std::set<std::vector<RankIndex>> sets(demand.rank_sets.begin(), demand.rank_sets.end());
    EXPECT_EQ(sets.size(), demand.rank_sets.size());
    if (!random.job.in_place.empty()) continue;  // such classes may have equal sets
    // Classes of equal sets differ in the number of places that some needer has.
    std::set<std::tuple<RankSetIndex, RankSetIndex, std::vector<std::size_t>>> keys;
    for (const DemandClass& c : demand.classes) {
      std::vector<std::size_t> places;
      for (const RankIndex n : demand.Needers(c)) {
        const LayoutIndex layout = random.job.ranks[static_cast<std::size_t>(n)].destination_layout;
        const auto around = RegionsAround(random.job.layouts[static_cast<std::size_t>(layout)],
                                          demand.fragments[c.first_fragment]);
        places.push_back(around.size());
      }
      keys.emplace(c.holders, c.needers, std::move(places));
    }
    EXPECT_EQ(keys.size(), demand.classes.size());
  }
}

}  // namespace
}  // namespace reshard
