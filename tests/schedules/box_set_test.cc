#include "schedules/box_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace reshard {
namespace {

using Longs = std::vector<std::int64_t>;

bool AnyPairOverlaps(const BoxSet& boxes) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t k = i + 1; k < boxes.size(); ++k) {
      if (boxes.Overlap(i, k)) return true;
    }
  }
  return false;
}

TEST(BoxSetTest, BoxesThatTouchDoNotOverlap) {
  BoxSet boxes(2);
  boxes.Add(Longs{0, 0}, Longs{2, 2});
  boxes.Add(Longs{2, 0}, Longs{4, 2});
  boxes.Add(Longs{1, 1}, Longs{3, 3});
  EXPECT_FALSE(boxes.Overlap(0, 1));
  EXPECT_TRUE(boxes.Overlap(0, 2));
}

TEST(BoxSetTest, PointsOfNoDimsAreTheSame) {
  BoxSet boxes(0);
  EXPECT_EQ(PairwiseDisjoint(boxes).verdict, Disjointness::kDisjoint);
  boxes.Add(Longs{}, Longs{});
  EXPECT_EQ(PairwiseDisjoint(boxes).verdict, Disjointness::kDisjoint);
  boxes.Add(Longs{}, Longs{});
  EXPECT_EQ(PairwiseDisjoint(boxes).verdict, Disjointness::kOverlapping);
}

TEST(BoxSetTest, AGridOf100000BoxesIsToldApartByPlanes) {
  // All pairs would be 5e9 comparisons; planes need about n log n per dim.
  BoxSet boxes(3);
  for (std::int64_t i = 0; i < 100; ++i) {
    for (std::int64_t k = 0; k < 1000; ++k)
      boxes.Add(Longs{i, k * 3, 0}, Longs{i + 1, k * 3 + 3, 7});
  }
  EXPECT_EQ(PairwiseDisjoint(boxes, /*work_limit=*/10'000'000).verdict, Disjointness::kDisjoint);
  boxes.Add(Longs{50, 500, 6}, Longs{51, 501, 8});
  const DisjointnessResult result = PairwiseDisjoint(boxes, 10'000'000);
  EXPECT_EQ(result.verdict, Disjointness::kOverlapping);
  EXPECT_EQ(result.overlap.second, 100000U);
  EXPECT_TRUE(boxes.Overlap(result.overlap.first, result.overlap.second));
}

TEST(BoxSetTest, APinwheelThatNoPlaneSeparatesIsComparedByPairs) {
  // Nine pinwheels of four blades around a hole, laid into each other: no plane separates any.
  BoxSet boxes(2);
  for (std::int64_t ring = 1; ring <= 9; ++ring) {
    const std::int64_t r = 2 * ring;
    boxes.Add(Longs{-r, r - 2}, Longs{r - 2, r});
    boxes.Add(Longs{r - 2, -r + 2}, Longs{r, r});
    boxes.Add(Longs{-r + 2, -r}, Longs{r, -r + 2});
    boxes.Add(Longs{-r, -r}, Longs{-r + 2, r - 2});
  }
  EXPECT_FALSE(AnyPairOverlaps(boxes));
  EXPECT_EQ(PairwiseDisjoint(boxes).verdict, Disjointness::kDisjoint);
  EXPECT_EQ(PairwiseDisjoint(boxes, /*work_limit=*/100).verdict, Disjointness::kUndecided);
}

TEST(BoxSetTest, RandomSetsAgreeWithAllPairs) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  int overlapping = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const std::size_t dims = 1 + random() % 3;
    const int span = dims == 1 ? 200 : 25;
    BoxSet boxes(dims);
    for (int i = static_cast<int>(random() % 40); i > 0; --i) {
      Longs begin;
      Longs end;
      for (std::size_t k = 0; k < dims; ++k) {
        begin.push_back(static_cast<std::int64_t>(random() % static_cast<unsigned>(span)));
        end.push_back(begin.back() + 1 + static_cast<std::int64_t>(random() % 4));
      }
      boxes.Add(begin, end);
    }
    const DisjointnessResult result = PairwiseDisjoint(boxes);
    const bool any = AnyPairOverlaps(boxes);
    overlapping += any ? 1 : 0;
    EXPECT_EQ(result.verdict, any ? Disjointness::kOverlapping : Disjointness::kDisjoint);
    if (any) {
      EXPECT_TRUE(boxes.Overlap(result.overlap.first, result.overlap.second));
    }
  }
  // Both verdicts came up often.
  EXPECT_GT(overlapping, 40);
  EXPECT_LT(overlapping, 360);
}

TEST(BoxTreeTest, FindsAllBoxesThatContainABox) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto pick = [&random](int limit) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit));
  };
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t dims = 1 + random() % 3;
    BoxSet boxes(dims);
    const int count = 1 + static_cast<int>(pick(60));
    for (int i = 0; i < count; ++i) {
      Longs begin;
      Longs end;
      for (std::size_t k = 0; k < dims; ++k) {
        begin.push_back(pick(20));
        end.push_back(begin.back() + 1 + pick(8));
      }
      boxes.Add(begin, end);
    }
    const BoxTree tree(boxes);
    for (int query = 0; query < 20; ++query) {
      Longs begin;
      Longs extent;
      for (std::size_t k = 0; k < dims; ++k) {
        begin.push_back(pick(24));
        extent.push_back(1 + pick(3));
      }
      std::vector<std::size_t> expected;
      for (std::size_t box = 0; box < boxes.size(); ++box) {
        bool contains = true;
        for (std::size_t k = 0; k < dims; ++k) {
          contains = contains && boxes.begin(box, k) <= begin[k] &&
                     begin[k] + extent[k] <= boxes.end(box, k);
        }
        if (contains) expected.push_back(box);
      }
      std::vector<std::size_t> found;
      EXPECT_FALSE(tree.VisitContaining(begin, extent, [&found](std::size_t box) {
        found.push_back(box);
        return false;
      }));
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, expected);
    }
  }
}

}  // namespace
}  // namespace reshard
