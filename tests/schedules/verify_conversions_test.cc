#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedules/plan_codec.h"
#include "schedules/rank_part.h"
#include "tests/schedules/converted_plan.h"
#include "tests/schedules/plan_damage.h"

namespace reshard {
namespace {

std::vector<Damage> ConversionDamages() {
  return {
      {"tensors_descend", [](Plan& p) { std::swap(p.job.converted[0], p.job.converted[1]); },
       "they do not ascend by tensor"},
      {"dtype", [](Plan& p) { p.job.converted[1].origin_dtype = DType::kI32; },
       "converted tensor \"c\": cast does not make BF16 of I32"},
      {"scale_dtype", [](Plan& p) { p.job.converted[0].kind = ConversionKind::kFloorScales; },
       "converted tensor \"b\": floor scales does not make F32 of BF16"},
      {"shape", [](Plan& p) { p.job.converted[0].origin_shape = {129}; },
       "its shape is not the one its origin gives"},
      {"block", [](Plan& p) { p.job.converted[0].block = {0}; }, "its blocks have 0 along dim 0"},
      {"blocks_missing", [](Plan& p) { p.job.converted[0].block.clear(); },
       "its blocks have not the dims"},
      {"huge",
       [](Plan& p) {
         p.job.converted[0].origin_shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
         p.job.converted[0].block = {1, 1};
       },
       "its origin does not fit 64 bits"},
      {"stored_all_the_same", [](Plan& p) { p.job.layouts[0].conversions.pop_back(); },
       "tensor \"c\" is converted, and the source stores it"},
      {"not_converted", [](Plan& p) { p.job.converted.pop_back(); },
       "its parameter is of another conversion than tensor \"c\""},
      {"another_kind",
       [](Plan& p) { p.job.layouts[0].conversions[1].kind = ConversionKind::kPlusOne; },
       "its parameter is of another conversion than tensor \"c\""},
      {"another_block", [](Plan& p) { p.job.layouts[1].conversions[0].block = {2}; },
       "its box has not the shape of its parameter"},
      {"another_origin", [](Plan& p) { p.job.layouts[0].parameters[4].dtype = DType::kF16; },
       "tensor \"c\" is not computed from F32"},
      {"beyond", [](Plan& p) { p.job.layouts[0].conversions[0].offset = 3; },
       "layout 0, parameter \"b\": it reads beyond parameter \"stored\""},
      // Two dims of stride 1 reach as far as their extents' sum, and are as many as their product.
      {"windows_over_each_other",
       [](Plan& p) {
         Conversion& conversion = p.job.layouts[1].conversions[0];
         conversion.offset = 0;
         conversion.extent = {16, 16};
         conversion.stride = {1, 1};
         conversion.block = {1, 1};
       },
       "it reads more elements than parameter \"stored\" has"},
      {"negative_offset", [](Plan& p) { p.job.layouts[0].conversions[1].offset = -1; },
       "it reads beyond parameter \"master\""},
      {"not_a_run", [](Plan& p) { p.job.layouts[0].conversions[1].stride = {0}; },
       "dim 0 of its box is none"},
      {"conversions_descend",
       [](Plan& p) { std::swap(p.job.layouts[0].conversions[0], p.job.layouts[0].conversions[1]); },
       "conversions do not ascend"},
      {"of_a_computed_one", [](Plan& p) { p.job.layouts[0].conversions[1].source = 1; },
       "its source \"b\" is computed itself"},
      {"no_such_parameter", [](Plan& p) { p.job.layouts[0].conversions[1].source = 5; },
       "a conversion of parameters that it lacks"},
      {"no_such_tensor", [](Plan& p) { p.job.converted[1].tensor = 3; }, "no such tensor"},
      {"on_the_destination",
       [](Plan& p) {
         p.job.layouts[2].conversions = {{1, 0, ConversionKind::kCast, 0, {32}, {1}, {}}};
       },
       "a parameter of its destination is computed"},
      // Rows 2.. of the computed scales: all but the whole parameter.
      {"part_of_a_parameter",
       [](Plan& p) {
         p.job.layouts[1].parameters[0].shape = {33};
         p.job.layouts[1].parameters[1].shape = {132};
         p.job.layouts[1].conversions[0].extent = {132};
       },
       "it is not the whole of its computed parameter"},
      // 127 elements are 32 blocks as well, but the last one is cut short.
      {"cut_block", [](Plan& p) { p.job.layouts[1].conversions[0].extent = {127}; },
       "it cuts a block of 4 along dim 0 of \"b.weight\""},
      {"in_place",
       [](Plan& p) {
         p.job.in_place = {{"stored", "b"}};
       },
       "in-place parameter \"stored\": tensors are computed from it"},
  };
}

class ConversionDamageTest : public ::testing::TestWithParam<Damage> {};

TEST_P(ConversionDamageTest, IsRefused) {
  Plan plan = ConvertedPlan();
  GetParam().apply(plan);
  EXPECT_THAT(VerdictOn(plan), ::testing::HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(Conversions, ConversionDamageTest,
                         ::testing::ValuesIn(ConversionDamages()), NameOf);

TEST(VerifyConversionsTest, TheDeclaredConversionsPass) {
  EXPECT_EQ(VerdictOn(ConvertedPlan()), "accepted");
}

TEST(VerifyConversionsTest, AnEdgeBlockMayBeShort) {
  Plan plan = ConvertedPlan();
  plan.job.converted[0].origin_shape = {126};
  for (const std::size_t layout : {0, 1}) plan.job.layouts[layout].conversions[0].extent = {126};
  EXPECT_EQ(VerdictOn(plan), "accepted");
}

TEST(ConversionSectionsTest, APlanComesBackAsItWas) {
  const Plan plan = ConvertedPlan();
  const Result<std::string> bytes = EncodePlan(plan);
  ASSERT_TRUE(bytes);
  const Result<Plan> decoded = DecodePlan(*bytes, "plan");
  ASSERT_TRUE(decoded) << ToString(decoded.error());
  EXPECT_EQ(*decoded, plan);
  EXPECT_EQ(ExtractRankPart(*decoded, 0).source_conversions, plan.job.layouts[0].conversions);
  EXPECT_TRUE(ExtractRankPart(*decoded, 2).source_conversions.empty());
}

}  // namespace
}  // namespace reshard
