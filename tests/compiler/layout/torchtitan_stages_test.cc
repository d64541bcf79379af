#include "compiler/layout/torchtitan_stages.h"

#include <string>
#include <vector>

#include "foundation/strict_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<TorchtitanStages> Place(const std::string& json, std::int64_t pipeline,
                               std::int64_t layers) {
  const Result<JsonDocument> document = ParseJson(json, "job.json");
  if (!document) return tl::unexpected(document.error());
  return PlaceTorchtitanLayers(JsonCursor(*document), pipeline, layers);
}

std::string ErrorOf(const std::string& json, std::int64_t pipeline, std::int64_t layers) {
  const Result<TorchtitanStages> stages = Place(json, pipeline, layers);
  return stages ? "none" : ToString(stages.error());
}

std::vector<std::int64_t> CountsOf(const TorchtitanStages& stages, std::size_t pipeline) {
  std::vector<std::int64_t> counts(pipeline, 0);
  for (const std::int64_t rank : stages.of_layer) ++counts[static_cast<std::size_t>(rank)];
  return counts;
}

// 61 layers weigh 63 with both ends: 16, 16, 16, 15, less one at either end.
TEST(TorchtitanStages, EndsWeighALayerEach) {
  const Result<TorchtitanStages> stages = Place("{}", 4, 61);
  ASSERT_TRUE(stages) << ToString(stages.error());
  EXPECT_THAT(CountsOf(*stages, 4), ElementsAre(15, 16, 16, 14));
  EXPECT_EQ(stages->first, 0);
  EXPECT_EQ(stages->last, 3);
  EXPECT_THAT(CountsOf(*Place("{}", 1, 5), 1), ElementsAre(5));
  // Two stages of two: the ends alone.
  EXPECT_THAT(CountsOf(*Place("{}", 2, 0), 2), ElementsAre(0, 0));
}

// Six layers on two ranks of two stages weigh 8, two each: one layer, two, two,
// one.
TEST(TorchtitanStages, VirtualStagesLoopOrTurn) {
  EXPECT_THAT(Place(R"({"virtualStages": 2})", 2, 6)->of_layer, ElementsAre(0, 1, 1, 0, 0, 1));
  const Result<TorchtitanStages> v = Place(R"({"virtualStages": 2, "stageOrder": "v"})", 2, 6);
  ASSERT_TRUE(v);
  EXPECT_THAT(v->of_layer, ElementsAre(0, 1, 1, 1, 1, 0));
  EXPECT_EQ(v->first, 0);
  EXPECT_EQ(v->last, 0);
}

TEST(TorchtitanStages, GivenCounts) {
  EXPECT_THAT(Place(R"({"layersPerStage": [4, 2]})", 2, 6)->of_layer,
              ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_THAT(Place(R"({"layersPerStage": [0, 0, 1, 0]})", 4, 1)->of_layer, ElementsAre(2));
}

TEST(TorchtitanStages, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(ErrorOf("{}", 4, 1), HasSubstr("1 layers are too few for 4 stages"));
  EXPECT_THAT(ErrorOf(R"({"stageOrder": "v"})", 2, 6), HasSubstr("'v' has two stages on a rank"));
  EXPECT_THAT(ErrorOf(R"({"stageOrder": "w"})", 2, 6), HasSubstr("unknown order 'w'"));
  EXPECT_THAT(ErrorOf(R"({"virtualStages": 4611686018427387904})", 4, 6),
              HasSubstr("are too many"));
  EXPECT_THAT(ErrorOf(R"({"layersPerStage": [4, 3]})", 2, 6),
              HasSubstr("do not add up to the model's 6 layers"));
}

}  // namespace
}  // namespace reshard
