#include "compiler/layout/sglang_degrees.h"

#include <string>

#include "foundation/strict_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<SglangDegrees> Read(const std::string& json, std::int64_t rank_count) {
  const Result<JsonDocument> document = ParseJson(json, "job.json");
  if (!document) return tl::unexpected(document.error());
  return ReadSglangDegrees(JsonCursor(*document), rank_count);
}

std::string ErrorOf(const std::string& json, std::int64_t rank_count) {
  const Result<SglangDegrees> degrees = Read(json, rank_count);
  return degrees ? "none" : ToString(degrees.error());
}

Result<std::vector<std::int64_t>> Layers(const std::string& json, std::int64_t stages,
                                         std::int64_t layers) {
  const Result<JsonDocument> document = ParseJson(json, "job.json");
  if (!document) return tl::unexpected(document.error());
  return PlaceSglangLayers(JsonCursor(*document), stages, layers);
}

// The worked example of tp 16, four attention replicas, eight expert ranks: attention is cut over
// four ranks and experts over two. 13 = 3 * 4 + 1: attention replica 3, share 1; 13 = 6 * 2 + 1:
// expert rank 6, share 1.
TEST(SglangDegrees, Rank13OfSixteen) {
  const Result<SglangDegrees> degrees =
      Read(R"({"tensor": 16, "attentionData": 4, "expert": 8})", 32);
  ASSERT_TRUE(degrees) << ToString(degrees.error());
  EXPECT_EQ(degrees->attention_tensor, 4);
  EXPECT_EQ(degrees->expert_tensor, 2);
  EXPECT_EQ(degrees->replicas, 2);
  const SglangCoordinates expected{
      .pipeline = 0, .tensor = 13, .attention_tensor = 1, .expert = 6, .expert_tensor = 1};
  EXPECT_EQ(PlaceSglangRank(*degrees, 13), expected);
  EXPECT_EQ(PlaceSglangRank(*degrees, 16 + 13), expected);  // the second replica
}

// Ranks numbered by counting through nested loops, the innermost fastest.
TEST(SglangDegrees, CoordinatesAgreeWithCounting) {
  const Result<SglangDegrees> degrees =
      Read(R"({"tensor": 12, "pipeline": 2, "attentionData": 2, "attentionContext": 3, "expert": 2,
               "expertData": 2})",
           48);
  ASSERT_TRUE(degrees) << ToString(degrees.error());
  std::int64_t rank = 0;
  for (std::int64_t replica = 0; replica < 2; ++replica) {
    for (std::int64_t pipeline = 0; pipeline < 2; ++pipeline) {
      for (std::int64_t data = 0; data < 2; ++data) {
        for (std::int64_t context = 0; context < 3; ++context) {
          for (std::int64_t share = 0; share < 2; ++share) {
            const SglangCoordinates at = PlaceSglangRank(*degrees, rank);
            EXPECT_EQ(at.pipeline, pipeline) << rank;
            EXPECT_EQ(at.attention_tensor, share) << rank;
            EXPECT_EQ(at.tensor, rank % 12) << rank;
            ++rank;
          }
        }
      }
    }
  }
  rank = 0;
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    for (std::int64_t data = 0; data < 2; ++data) {
      for (std::int64_t expert = 0; expert < 2; ++expert) {
        for (std::int64_t share = 0; share < 3; ++share) {
          const SglangCoordinates at = PlaceSglangRank(*degrees, rank);
          EXPECT_EQ(at.expert, expert) << rank;
          EXPECT_EQ(at.expert_tensor, share) << rank;
          ++rank;
        }
      }
    }
  }
}

TEST(SglangDegrees, BadDegreesAreRefused) {
  EXPECT_THAT(ErrorOf(R"({"tensor": 8, "pipeline": 3})", 16),
              HasSubstr("tensor x pipeline = 8 x 3 does not divide the GPUs of the group, 16"));
  EXPECT_THAT(ErrorOf(R"({"tensor": 8, "attentionData": 3})", 8),
              HasSubstr("attentionData x attentionContext = 3 x 1 does not divide tensor 8"));
  EXPECT_THAT(ErrorOf(R"({"tensor": 8, "expert": 4, "expertData": 4})", 8),
              HasSubstr("expert x expertData = 4 x 4 does not divide tensor 8"));
  EXPECT_THAT(ErrorOf(R"({"tensor": 8, "expert": 4611686018427387904, "expertData": 4})", 8),
              HasSubstr("does not divide tensor 8"));
  EXPECT_THAT(ErrorOf(R"({"tensor": 8, "denseTensor": 2})", 8),
              HasSubstr("SGLang knows 1 and tensor, 8, not 2"));
  EXPECT_THAT(ErrorOf(R"({"tp": 8})", 8), HasSubstr("unknown field 'tp'"));
  EXPECT_THAT(ErrorOf(R"({"sharedExperts": "slot"})", 8),
              HasSubstr("unknown value 'slot'; known are 'tensor', 'replicated', 'appended'"));
  EXPECT_THAT(ErrorOf(R"({"expertRows": "inputMajor"})", 8),
              HasSubstr("known are 'gateUp', 'upGate'"));
  EXPECT_EQ(ErrorOf(R"({"tensor": 8, "denseTensor": 8})", 8), "none");
}

// 61 / 4 -> 15, 15, 15, 16; 94 / 8 -> two each of eleven and six of twelve, the last ones.
TEST(SglangDegrees, LayersLeftOverGoToTheLastStages) {
  EXPECT_THAT(*Layers("{}", 4, 61), ElementsAre(0, 15, 30, 45, 61));
  EXPECT_THAT(*Layers("{}", 8, 94), ElementsAre(0, 11, 22, 34, 46, 58, 70, 82, 94));
  EXPECT_THAT(*Layers("{}", 3, 2), ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(*Layers(R"({"layersPerStage": [2, 3]})", 2, 5), ElementsAre(0, 2, 5));
  EXPECT_THAT(ToString(Layers(R"({"layersPerStage": [9, 9]})", 2, 9).error()),
              HasSubstr("do not add up to the model's 9 layers"));
}

}  // namespace
}  // namespace reshard
