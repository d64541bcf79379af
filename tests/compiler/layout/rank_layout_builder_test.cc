#include "compiler/layout/rank_layout_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

using testing::HasSubstr;

const Model& ThreeTensors() {
  static const Model model = [] {
    Model made;
    made.tensors = {{"a", DType::kBF16, {4}}, {"b", DType::kF32, {2, 3}}, {"c", DType::kBF16, {4}}};
    return made;
  }();
  return model;
}

TEST(RankLayoutBuilderTest, OrderOfAddingDoesNotCount) {
  const Block a = Block::OfTensor(0, {4});
  const Block b = Block::OfTensor(1, {2, 3});
  RankLayoutBuilder forwards(ThreeTensors());
  ASSERT_TRUE(forwards.AddParameter("x", DType::kBF16, a).has_value());
  ASSERT_TRUE(forwards.AddParameter("w", DType::kF32, b).has_value());
  RankLayoutBuilder backwards(ThreeTensors());
  ASSERT_TRUE(backwards.AddParameter("w", DType::kF32, b).has_value());
  ASSERT_TRUE(backwards.AddParameter("x", DType::kBF16, a).has_value());
  const RankLayout layout = *std::move(forwards).Build();
  EXPECT_EQ(layout, *std::move(backwards).Build());
  EXPECT_EQ(layout.parameters[0].name, "w");
  EXPECT_EQ(layout.regions[0].tensor, 0);
  EXPECT_EQ(layout.regions[0].parameter, 1);
}

TEST(RankLayoutBuilderTest, RegionsAreSortedByTensorAndBegin) {
  const Block c = Block::OfTensor(2, {4});
  const Block a = Block::OfTensor(0, {4});
  RankLayoutBuilder builder(ThreeTensors());
  const std::vector<Block> parts = {c.Slice(0, 2, 4), a, c.Slice(0, 0, 2)};
  ASSERT_TRUE(builder.AddParameter("p", DType::kBF16, Block::Concat(0, parts)).has_value());
  const RankLayout layout = *std::move(builder).Build();
  ASSERT_EQ(layout.regions.size(), 3);
  EXPECT_EQ(layout.regions[0].tensor, 0);
  EXPECT_EQ(layout.regions[1].tensor, 2);
  EXPECT_EQ(layout.regions[1].begin[0], 0);
  EXPECT_EQ(layout.regions[2].begin[0], 2);
  EXPECT_EQ(
      Contents(ThreeTensors().tensors, layout, "p"),
      (std::vector<std::string>{"c[2]", "c[3]", "a[0]", "a[1]", "a[2]", "a[3]", "c[0]", "c[1]"}));
}

TEST(RankLayoutBuilderTest, TwoParametersOfOneNameAreRefused) {
  RankLayoutBuilder builder(ThreeTensors());
  ASSERT_TRUE(builder.AddParameter("p", DType::kBF16, Block::OfTensor(0, {4})).has_value());
  ASSERT_TRUE(builder.AddParameter("p", DType::kBF16, Block::OfTensor(2, {4})).has_value());
  const auto built = std::move(builder).Build();
  ASSERT_FALSE(built.has_value());
  EXPECT_EQ(built.error().place, "p");
  EXPECT_EQ(built.error().reason, "two parameters of one rank have this name");
}

TEST(RankLayoutBuilderTest, TensorOfAnotherDtypeIsRefused) {
  RankLayoutBuilder builder(ThreeTensors());
  const auto added = builder.AddParameter("p", DType::kBF16, Block::OfTensor(1, {2, 3}));
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().reason, "the parameter is BF16, but tensor b in it is F32");
}

TEST(RankLayoutBuilderTest, TooManyZerosAreRefused) {
  const std::vector<Block> few(1 << 12, Block::Zeros({1}));
  const Block row = Block::Concat(0, few);
  const std::vector<Block> rows((1 << 10) + 1, row);
  RankLayoutBuilder builder(ThreeTensors());
  const auto added = builder.AddParameter("p", DType::kU8, Block::Stack(rows));
  ASSERT_FALSE(added.has_value());
  EXPECT_THAT(added.error().reason, HasSubstr("regions"));
}

TEST(RankLayoutBuilderTest, BytesBeyond64BitsAreRefused) {
  RankLayoutBuilder builder(ThreeTensors());
  const Block huge = Block::Padding({std::int64_t{1} << 31, std::int64_t{1} << 31});
  EXPECT_TRUE(builder.AddParameter("p", DType::kU8, huge).has_value());
  const auto added = builder.AddParameter("q", DType::kBF16, huge);  // 2^63 bytes
  ASSERT_FALSE(added.has_value());
  EXPECT_THAT(added.error().reason, HasSubstr("does not fit 64 bits"));
}

}  // namespace
}  // namespace reshard
