#include "compiler/layout/vllm_degrees.h"

#include <string>

#include "foundation/strict_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<VllmDegrees> Read(const std::string& json, std::int64_t rank_count) {
  const Result<JsonDocument> document = ParseJson(json, "job.json");
  if (!document) return tl::unexpected(document.error());
  return ReadVllmDegrees(JsonCursor(*document), rank_count);
}

std::string ErrorOf(const std::string& json, std::int64_t rank_count) {
  const Result<VllmDegrees> degrees = Read(json, rank_count);
  return degrees ? "none" : ToString(degrees.error());
}

Result<std::vector<std::int64_t>> Layers(const std::string& json, std::int64_t stages,
                                         std::int64_t layers) {
  const Result<JsonDocument> document = ParseJson(json, "job.json");
  if (!document) return tl::unexpected(document.error());
  return PlaceVllmLayers(JsonCursor(*document), stages, layers);
}

Result<std::vector<std::int64_t>> Experts(const std::string& json, std::int64_t rank,
                                          std::int64_t experts, std::int64_t groups) {
  const Result<JsonDocument> document = ParseJson(json, "job.json");
  if (!document) return tl::unexpected(document.error());
  const JsonCursor fields(*document);
  const Result<VllmDegrees> degrees = ReadVllmDegrees(fields, 64);
  if (!degrees) return tl::unexpected(degrees.error());
  return ExpertsOfVllmRank(*degrees, rank, experts, groups, fields);
}

TEST(VllmDegrees, EnginesFollow) {
  const Result<VllmDegrees> degrees = Read(R"({"tensor": 4, "pipeline": 2, "data": 2})", 64);
  ASSERT_TRUE(degrees);
  EXPECT_EQ(degrees->engines, 4);
  EXPECT_EQ(degrees->expert_ranks(), 8);
  EXPECT_EQ(Read("{}", 3)->engines, 3);
}

TEST(VllmDegrees, BadDegreesAreRefused) {
  EXPECT_THAT(ErrorOf(R"({"tensor": 8, "data": 3})", 16),
              HasSubstr("tensor x pipeline x data = 8 x 1 x 3 does not divide the 16 GPUs"));
  EXPECT_THAT(ErrorOf(R"({"tensor": 4611686018427387904, "data": 4})", 16),
              HasSubstr("does not divide"));
  EXPECT_THAT(ErrorOf(R"({"tp": 8})", 16), HasSubstr("unknown field 'tp'"));
  EXPECT_THAT(ErrorOf(R"({"expertPlacement": "random"})", 16),
              HasSubstr("unknown placement 'random'"));
  EXPECT_THAT(ErrorOf(R"({"redundantExperts": 2})", 16), HasSubstr("set expertParallel"));
}

// r = t + T * (pp + P * (dp + D * engine)): 45 = 1 + 4 * (1 + 2 * (1 + 2 * 2)), q = 1 + 4 * 1.
TEST(VllmDegrees, CoordinatesOfARank) {
  const Result<VllmDegrees> degrees = Read(R"({"tensor": 4, "pipeline": 2, "data": 2})", 64);
  ASSERT_TRUE(degrees);
  EXPECT_EQ(PlaceVllmRank(*degrees, 45, true),
            (VllmCoordinates{.pipeline = 1, .tensor = 1, .expert = 5}));
  // Without experts the data ranks are replicas.
  EXPECT_EQ(PlaceVllmRank(*degrees, 45, false),
            (VllmCoordinates{.pipeline = 1, .tensor = 1, .expert = 0}));
}

// 61 / 4 -> 15, 15, 16, 15; 94 / 8 -> 11, 12 x 6, 11.
TEST(VllmDegrees, LayersLeftOverGoBeforeTheLastStage) {
  EXPECT_THAT(*Layers("{}", 4, 61), ElementsAre(0, 15, 30, 46, 61));
  EXPECT_THAT(*Layers("{}", 8, 94), ElementsAre(0, 11, 23, 35, 47, 59, 71, 83, 94));
  EXPECT_THAT(*Layers("{}", 1, 5), ElementsAre(0, 5));
  // Three over four stages: all but the last.
  EXPECT_THAT(*Layers("{}", 4, 3), ElementsAre(0, 1, 2, 3, 3));
  EXPECT_THAT(*Layers(R"({"layersPerStage": [2, 3]})", 2, 5), ElementsAre(0, 2, 5));
  EXPECT_THAT(ToString(Layers(R"({"layersPerStage": [2, 2]})", 2, 5).error()),
              HasSubstr("do not add up to the model's 5 layers"));
  EXPECT_THAT(ToString(Layers(R"({"layersPerStage": [5]})", 2, 5).error()),
              HasSubstr("expected 2 counts, got 1"));
}

// 10 experts over 4 ranks: the first two hold three.
TEST(VllmDegrees, LinearPlacement) {
  const std::string fields = R"({"tensor": 4, "expertParallel": true})";
  EXPECT_THAT(*Experts(fields, 0, 10, 1), ElementsAre(0, 1, 2));
  EXPECT_THAT(*Experts(fields, 1, 10, 1), ElementsAre(3, 4, 5));
  EXPECT_THAT(*Experts(fields, 2, 10, 1), ElementsAre(6, 7));
  EXPECT_THAT(*Experts(fields, 3, 10, 1), ElementsAre(8, 9));
}

// 16 experts over 4 ranks, round robin with grouped routing; linear without.
TEST(VllmDegrees, RoundRobinPlacement) {
  const std::string fields =
      R"({"tensor": 4, "expertParallel": true, "expertPlacement": "roundRobin"})";
  EXPECT_THAT(*Experts(fields, 1, 16, 8), ElementsAre(1, 5, 9, 13));
  EXPECT_THAT(*Experts(fields, 1, 16, 1), ElementsAre(4, 5, 6, 7));
}

// 128 experts with 16 copies over 8 ranks: 18 slots a rank; slot 128 + i is expert i. Redundancy
// turns round robin off.
TEST(VllmDegrees, RedundantExperts) {
  const std::string fields =
      R"({"tensor": 8, "expertParallel": true, "redundantExperts": 16,
          "expertPlacement": "roundRobin"})";
  const auto first = Experts(fields, 0, 128, 8);
  ASSERT_TRUE(first) << ToString(first.error());
  EXPECT_EQ(first->size(), 18U);
  EXPECT_EQ(first->front(), 0);
  EXPECT_EQ(first->back(), 17);
  EXPECT_THAT(*Experts(fields, 7, 128, 8),
              ElementsAre(126, 127, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_THAT(ToString(Experts(fields, 0, 127, 8).error()),
              HasSubstr("127 experts and 16 redundant ones do not divide by the 8 ranks"));
}

TEST(VllmDegrees, WithoutExpertParallelismAllRanksHoldAllExperts) {
  EXPECT_THAT(*Experts(R"({"tensor": 4})", 3, 3, 1), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace reshard
