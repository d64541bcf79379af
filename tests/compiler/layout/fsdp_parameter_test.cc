#include "compiler/layout/fsdp_parameter.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The rows of tensor 0 in a block of one dim.
std::vector<std::int64_t> RowsOf(const Block& block) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(block.shape()[0]), -1);
  RegionTable regions;
  block.AppendRegions(0, regions);
  for (std::int64_t r = 0; r < regions.size(); ++r) {
    for (std::int64_t i = 0; i < regions[r].extent[0]; ++i) {
      rows[static_cast<std::size_t>(regions[r].offset + i * regions[r].stride[0])] =
          regions[r].begin[0] + i;
    }
  }
  return rows;
}

FsdpParameter Vector(std::int64_t size, int tensor_dim) {
  FsdpParameter parameter;
  parameter.whole.name = "v";
  parameter.whole.block = Block::OfTensor(0, {size});
  parameter.tensor_dim = tensor_dim;
  return parameter;
}

std::vector<std::int64_t> Held(const FsdpParameter& parameter, const FsdpDegrees& degrees,
                               std::int64_t rank, std::int64_t experts = 0) {
  const auto block = HeldBlock(parameter, degrees, PlaceFsdpRank(degrees, rank), experts);
  EXPECT_TRUE(block) << ToString(block.error());
  return block && *block ? RowsOf(**block) : std::vector<std::int64_t>{-2};
}

// What torch 2.15 stores of nine rows at FSDP 4 over tensor 2: tensor rank 0
// has rows 0 .. 4, dealt out 2, 2, 1, 0; tensor rank 1 rows 5 .. 8, one each.
// Row 8 is on (3, 1), where replaying the parameter's placements would put it
// on (3, 0).
TEST(FsdpParameter, StorageNotPlacementsOfNineRows) {
  const FsdpDegrees degrees{.shard = 4, .tensor = 2};
  const FsdpParameter parameter = Vector(9, 0);
  EXPECT_THAT(Held(parameter, degrees, 0), ElementsAre(0, 1));
  EXPECT_THAT(Held(parameter, degrees, 1), ElementsAre(5));
  EXPECT_THAT(Held(parameter, degrees, 4), ElementsAre(4));
  EXPECT_THAT(Held(parameter, degrees, 6), IsEmpty());
  EXPECT_THAT(Held(parameter, degrees, 7), ElementsAre(8));
}

// Shard and context are one axis, shard the slower: five rows over 2 * 2 are 2,
// 2, 1, 0.
TEST(FsdpParameter, ShardAndContextAreFlattened) {
  const FsdpDegrees degrees{.shard = 2, .context = 2};
  const FsdpParameter parameter = Vector(5, FsdpParameter::kWhole);
  EXPECT_THAT(Held(parameter, degrees, 0), ElementsAre(0, 1));
  EXPECT_THAT(Held(parameter, degrees, 1), ElementsAre(2, 3));
  EXPECT_THAT(Held(parameter, degrees, 2), ElementsAre(4));
  EXPECT_THAT(Held(parameter, degrees, 3), IsEmpty());
}

// Eight rows are gate 0 .. 3 and up 4 .. 7: tensor rank 1 of 2 has 2, 3, 6, 7,
// of which FSDP gives rank 0 the first two.
TEST(FsdpParameter, PartsAreCutAlone) {
  const FsdpDegrees degrees{.shard = 2, .tensor = 2};
  FsdpParameter parameter = Vector(8, 0);
  parameter.tensor_parts = 2;
  EXPECT_THAT(Held(parameter, degrees, 1), ElementsAre(2, 3));
  EXPECT_THAT(Held(parameter, degrees, 3), ElementsAre(6, 7));
  EXPECT_THAT(Held(parameter, degrees, 2), ElementsAre(4, 5));
}

TEST(FsdpParameter, PartsOfUnequalRowsAreRefused) {
  FsdpParameter parameter = Vector(9, 0);
  parameter.tensor_parts = 2;
  const auto refused = HeldBlock(parameter, {.tensor = 2}, {}, 0);
  ASSERT_FALSE(refused);
  EXPECT_THAT(ToString(refused.error()), HasSubstr("v: gate and up rows differ in number"));
}

// Six experts over three expert ranks and two shards of each: rank 4 is expert
// rank 1, shard 1. Tensor parallelism does not cut them.
TEST(FsdpParameter, ExpertsGoToExpertRanks) {
  const FsdpDegrees degrees{.shard = 3, .tensor = 2, .expert = 3};
  FsdpParameter stack = Vector(6, 0);
  stack.expert = true;
  EXPECT_THAT(Held(stack, degrees, 1, 6), ElementsAre(2));
  EXPECT_THAT(Held(stack, degrees, 4, 6), ElementsAre(3));
  FsdpParameter alone = Vector(4, 0);
  alone.expert = true;
  alone.whole.expert = 3;
  EXPECT_THAT(Held(alone, degrees, 1, 6), ElementsAre(0, 1));
  EXPECT_THAT(Held(alone, degrees, 4, 6), ElementsAre(2, 3));
  EXPECT_THAT(Held(alone, degrees, 0, 6), ElementsAre(-2));
  const auto refused = HeldBlock(stack, degrees, {}, 5);
  ASSERT_FALSE(refused);
  EXPECT_THAT(ToString(refused.error()), HasSubstr("5 experts do not divide by 3 expert ranks"));
}

TEST(FsdpParameter, BuffersStayWhole) {
  FsdpParameter buffer = Vector(3, FsdpParameter::kWhole);
  buffer.buffer = true;
  EXPECT_THAT(Held(buffer, {.shard = 2}, 1), ElementsAre(0, 1, 2));
}

TEST(FsdpParameter, WhatFsdpRefusesIsRefused) {
  FsdpParameter parameter;
  parameter.whole.name = "x";
  parameter.whole.block = Block::OfTensor(0, {});
  const auto scalar = HeldBlock(parameter, {.shard = 2}, {}, 0);
  ASSERT_FALSE(scalar);
  EXPECT_THAT(ToString(scalar.error()), HasSubstr("x is a scalar, which FSDP refuses"));
  parameter.whole.block = Block::OfTensor(0, {2, 3});
  parameter.shard_dim = 1;
  const auto uneven = HeldBlock(parameter, {.shard = 2}, {}, 0);
  ASSERT_FALSE(uneven);
  EXPECT_THAT(ToString(uneven.error()),
              HasSubstr("x: FSDP cuts its dim 1 of 3 over 2 ranks, and only "
                        "dim 0 may be uneven"));
}

}  // namespace
}  // namespace reshard
