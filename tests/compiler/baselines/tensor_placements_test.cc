#include "compiler/baselines/tensor_placements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;

TEST(TensorPlacementsTest, PatternsStarNumbersBetweenDots) {
  EXPECT_EQ(StarredName("model.layers.12.mlp.experts.255.up_proj.weight"),
            "model.layers.*.mlp.experts.*.up_proj.weight");
  EXPECT_EQ(StarredName("w2.7b.3"), "w2.7b.*");
  EXPECT_EQ(StarredName(""), "");
  EXPECT_EQ(StarredName("a..b."), "a..b.");
}

TEST(TensorPlacementsTest, ContiguousPartsAreOneRunOfTheWhole) {
  const TensorBox whole{{0, 0, 0}, {4, 6, 8}};
  EXPECT_TRUE(IsContiguous(whole, whole));
  EXPECT_TRUE(IsContiguous({{1, 0, 0}, {2, 6, 8}}, whole));
  EXPECT_TRUE(IsContiguous({{1, 2, 0}, {1, 3, 8}}, whole));
  EXPECT_TRUE(IsContiguous({{1, 2, 3}, {1, 1, 2}}, whole));
  EXPECT_FALSE(IsContiguous({{1, 2, 0}, {2, 3, 8}}, whole));
  EXPECT_FALSE(IsContiguous({{0, 0, 0}, {1, 2, 4}}, whole));
  EXPECT_TRUE(IsContiguous({{}, {}}, {{}, {}}));
}

TEST(TensorPlacementsTest, IntersectsBoxes) {
  const TensorBox a{{0, 2}, {4, 4}};
  EXPECT_EQ(Intersection(a, {{3, 0}, {5, 3}}), (TensorBox{{3, 2}, {1, 1}}));
  EXPECT_FALSE(Intersection(a, {{4, 0}, {5, 9}}));
}

TEST(TensorPlacementsTest, TensorsPlacedAlikeAreOneEntry) {
  JobRecordsBuilder builder;
  for (const char* name : {"x.0.w", "x.1.w", "x.2.w"}) {
    builder.AddTensor(name, DType::kBF16, {4, 4});
  }
  // x.2.w lies elsewhere than the two others; both halves of it in one rank are one box.
  builder.AddSource({Rows("x.0.w", 0, 4, 4), Rows("x.1.w", 0, 4, 4)});
  builder.AddSource({Rows("x.0.w", 0, 4, 4), Rows("x.1.w", 0, 4, 4), Rows("x.2.w", 0, 2, 4),
                     Rows("x.2.w", 2, 4, 4)});
  builder.AddDestination({Rows("x.0.w", 0, 2, 4), Rows("x.1.w", 0, 2, 4), Rows("x.2.w", 0, 2, 4)});
  builder.AddDestination({Rows("x.0.w", 2, 4, 4), Rows("x.1.w", 2, 4, 4), Rows("x.2.w", 2, 4, 4)});
  const auto placed = PlaceTensors(builder.job());
  ASSERT_EQ(placed.size(), 2U);
  EXPECT_THAT(placed[0].tensors, ElementsAre(0, 1));
  EXPECT_EQ(placed[0].pattern, "x.*.w");
  ASSERT_EQ(placed[0].sources.size(), 1U);
  EXPECT_THAT(placed[0].sources[0].ranks, ElementsAre(0, 1));
  ASSERT_EQ(placed[0].destinations.size(), 2U);
  EXPECT_THAT(placed[0].destinations[1].ranks, ElementsAre(3));
  EXPECT_THAT(placed[0].destinations[1].boxes, ElementsAre(TensorBox{{2, 0}, {2, 4}}));
  EXPECT_THAT(placed[1].tensors, ElementsAre(2));
  ASSERT_EQ(placed[1].sources.size(), 1U);
  EXPECT_THAT(placed[1].sources[0].boxes, ElementsAre(TensorBox{{0, 0}, {4, 4}}));
}

}  // namespace
}  // namespace reshard
