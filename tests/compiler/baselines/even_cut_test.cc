#include "compiler/baselines/even_cut.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

PlacedTensors Tensor() {
  PlacedTensors placed;
  placed.shape = {12, 4};
  return placed;
}

Shard OneBox(TensorBox box) { return {{std::move(box)}, {0}}; }

TEST(EvenCutTest, FindsTheDimAndTheParts) {
  const auto cut = FindEvenCut(Tensor(), {OneBox({{0, 0}, {12, 2}}), OneBox({{0, 2}, {12, 2}})});
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->dim, 1U);
  EXPECT_EQ(cut->parts, 2);
  const auto whole = FindEvenCut(Tensor(), {OneBox({{0, 0}, {12, 4}})});
  ASSERT_TRUE(whole);
  EXPECT_FALSE(whole->dim);
  EXPECT_EQ(whole->parts, 1);
}

TEST(EvenCutTest, SaysWhatItIsInstead) {
  const auto reason = [](const std::vector<Shard>& shards) {
    return FindEvenCut(Tensor(), shards).error();
  };
  EXPECT_EQ(reason({}), "held by nobody");
  EXPECT_EQ(reason({OneBox({{0, 0}, {7, 4}}), OneBox({{7, 0}, {5, 4}})}), "cut into unequal parts");
  EXPECT_EQ(reason({OneBox({{0, 0}, {6, 2}})}), "cut along several dims");
  EXPECT_EQ(reason({OneBox({{0, 0}, {6, 4}}), OneBox({{0, 0}, {12, 2}})}),
            "cut along several dims");
  EXPECT_EQ(reason({OneBox({{0, 0}, {6, 4}}), OneBox({{0, 0}, {12, 4}})}),
            "whole on some ranks and in parts on others");
  EXPECT_EQ(reason({OneBox({{0, 0}, {6, 4}}), OneBox({{3, 0}, {6, 4}})}),
            "cut into parts that overlap or leave gaps");
  EXPECT_EQ(reason({{{{{0, 0}, {3, 4}}, {{6, 0}, {3, 4}}}, {0}}}),
            "cut into several boxes for one rank");
}

}  // namespace
}  // namespace reshard
