#include "compiler/baselines/expert_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;

std::vector<StackedTensors> Stacks(const JobRecords& job) {
  return StackExperts(job, PlaceTensors(job));
}

TEST(ExpertStacksTest, ExpertsOfALayerAreOneTensorAndEqualLayersOneEntry) {
  // Two layers of four experts, two to a trainer; both engine ranks have half the rows of each.
  JobRecordsBuilder builder;
  std::vector<std::vector<TestBox>> held(2);
  std::vector<std::vector<TestBox>> needed(2);
  for (const std::string layer : {"l.0", "l.1"}) {
    for (int expert = 0; expert < 4; ++expert) {
      const std::string name = layer + ".experts." + std::to_string(expert) + ".w";
      builder.AddTensor(name, DType::kF32, {8, 4});
      held[static_cast<std::size_t>(expert / 2)].push_back(Rows(name, 0, 8, 4));
      needed[0].push_back(Rows(name, 0, 4, 4));
      needed[1].push_back(Rows(name, 4, 8, 4));
    }
  }
  for (const auto& boxes : held) builder.AddSource(boxes);
  for (const auto& boxes : needed) builder.AddDestination(boxes);
  const auto stacks = Stacks(builder.job());
  ASSERT_EQ(stacks.size(), 1U);
  EXPECT_EQ(stacks[0].stacks, 2);
  const PlacedTensors& placed = stacks[0].placed;
  EXPECT_THAT(placed.tensors, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(placed.pattern, "l.*.experts.*.w");
  EXPECT_THAT(placed.shape, ElementsAre(4, 8, 4));
  ASSERT_EQ(placed.sources.size(), 2U);
  EXPECT_THAT(placed.sources[0].boxes, ElementsAre(TensorBox{{0, 0, 0}, {2, 8, 4}}));
  EXPECT_THAT(placed.sources[1].boxes, ElementsAre(TensorBox{{2, 0, 0}, {2, 8, 4}}));
  EXPECT_THAT(placed.sources[1].ranks, ElementsAre(1));
  ASSERT_EQ(placed.destinations.size(), 2U);
  EXPECT_THAT(placed.destinations[1].boxes, ElementsAre(TensorBox{{0, 4, 0}, {4, 4, 4}}));
  EXPECT_THAT(placed.destinations[1].ranks, ElementsAre(3));
}

TEST(ExpertStacksTest, ExpertsStackByNumberNotByName) {
  // "10" comes before "2" in names; rank 0 has experts 0, 1 and 2, which follow each other.
  JobRecordsBuilder builder;
  std::vector<TestBox> all;
  std::vector<TestBox> first;
  for (const int expert : {0, 1, 10, 2}) {
    const std::string name = "experts." + std::to_string(expert) + ".w";
    builder.AddTensor("a." + name, DType::kF32, {8, 4});
    all.push_back(Rows("a." + name, 0, 8, 4));
    if (expert < 3) first.push_back(all.back());
  }
  builder.AddSource(first);
  builder.AddSource(all);
  builder.AddDestination(all);
  const auto stacks = Stacks(builder.job());
  ASSERT_EQ(stacks.size(), 1U);
  EXPECT_THAT(stacks[0].placed.sources[0].boxes, ElementsAre(TensorBox{{0, 0, 0}, {3, 8, 4}}));
}

TEST(ExpertStacksTest, WhatIsNoExpertOrUnlikeItsNeighboursStaysAsItIs) {
  JobRecordsBuilder builder;
  builder.AddTensor("a.experts.0.w", DType::kF32, {8, 4});
  builder.AddTensor("a.experts.1.w", DType::kF32, {4, 4});
  builder.AddTensor("a.experts.gate_up", DType::kF32, {8, 4});
  builder.AddTensor("b.0.w", DType::kF32, {8, 4});
  builder.AddTensor("b.1.w", DType::kF32, {8, 4});
  const std::vector<TestBox> all = {Rows("a.experts.0.w", 0, 8, 4), Rows("a.experts.1.w", 0, 4, 4),
                                    Rows("a.experts.gate_up", 0, 8, 4), Rows("b.0.w", 0, 8, 4),
                                    Rows("b.1.w", 0, 8, 4)};
  builder.AddSource(all);
  builder.AddDestination(all);
  const auto stacks = Stacks(builder.job());
  ASSERT_EQ(stacks.size(), 4U);
  EXPECT_THAT(stacks[0].placed.shape, ElementsAre(8, 4));
  EXPECT_THAT(stacks[1].placed.shape, ElementsAre(4, 4));
  EXPECT_THAT(stacks[3].placed.tensors, ElementsAre(3, 4));
  EXPECT_EQ(stacks[3].stacks, 2);
}

}  // namespace
}  // namespace reshard
