#include "compiler/layout/megatron_degrees.h"

#include <string>

#include "foundation/strict_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

Result<MegatronDegrees> Read(const std::string& json, std::int64_t rank_count) {
  const Result<JsonDocument> document = ParseJson(json, "job.json");
  if (!document) return tl::unexpected(document.error());
  return ReadMegatronDegrees(JsonCursor(*document), rank_count);
}

std::string ErrorOf(const std::string& json, std::int64_t rank_count) {
  const Result<MegatronDegrees> degrees = Read(json, rank_count);
  return degrees ? "none" : ToString(degrees.error());
}

Result<std::vector<MegatronCoordinates>> Place(const std::string& json, std::int64_t rank_count) {
  const Result<JsonDocument> document = ParseJson(json, "job.json");
  if (!document) return tl::unexpected(document.error());
  const JsonCursor fields(*document);
  const Result<MegatronDegrees> degrees = ReadMegatronDegrees(fields, rank_count);
  if (!degrees) return tl::unexpected(degrees.error());
  return PlaceMegatronRanks(*degrees, rank_count, fields);
}

TEST(MegatronDegrees, DataDegreesFollow) {
  const Result<MegatronDegrees> degrees =
      Read(R"({"tensor": 2, "context": 2, "pipeline": 4, "expert": 16, "expertTensor": 1})", 64);
  ASSERT_TRUE(degrees) << ToString(degrees.error());
  EXPECT_EQ(degrees->data, 4);
  EXPECT_EQ(degrees->expert_data, 1);
  EXPECT_FALSE(degrees->mtp);
  EXPECT_FALSE(degrees->padded_vocabulary);
  // expertTensor is tensor unless given.
  EXPECT_EQ(Read(R"({"tensor": 4})", 8)->expert_tensor, 4);
}

TEST(MegatronDegrees, BadDegreesAreRefused) {
  EXPECT_THAT(ErrorOf(R"({"tensor": 3})", 8),
              HasSubstr("tensor x context x pipeline = 3 x 1 x 1 does not divide the 8 GPUs"));
  EXPECT_THAT(
      ErrorOf(R"({"tensor": 2, "expert": 8})", 8),
      HasSubstr("expertTensor x expert x pipeline = 2 x 8 x 1 does not divide the 8 GPUs of "
                "the group; mind that expertTensor is tensor unless given"));
  EXPECT_THAT(ErrorOf(R"({"tensor": 0})", 8), HasSubstr("job.json: tensor"));
  EXPECT_THAT(ErrorOf(R"({"tensor": 4611686018427387904, "context": 4})", 8),
              HasSubstr("does not divide"));
  EXPECT_THAT(ErrorOf(R"({"data": 4})", 8), HasSubstr("4 does not match the 8 that follow"));
  EXPECT_THAT(ErrorOf(R"({"expert": 2, "expertData": 8})", 8),
              HasSubstr("job.json: expertData: 8 does not match the 4 that follow"));
  EXPECT_THAT(ErrorOf(R"({"tensr": 4})", 8), HasSubstr("did you mean 'tensor'?"));
  EXPECT_THAT(ErrorOf(R"({"order": "tp-cp-ep-dp"})", 8), HasSubstr("is no permutation"));
  EXPECT_THAT(ErrorOf(R"({"order": "tp-cp-ep-dp-dp"})", 8), HasSubstr("is no permutation"));
  EXPECT_THAT(ErrorOf(R"({"paddedVocabulary": 0})", 8), HasSubstr("paddedVocabulary"));
}

// Rank 50 of 128: r = dp + 32 * pp and r = ep + 16 * (edp + 2 * pp).
// Rank 27 of 64: r = tp + 2 * (cp + 2 * (dp + 4 * pp)) and r = ep + 16 * pp.
// Rank 77 of 128: r = tp + 4 * (dp + 4 * pp) and r = ep + 16 * pp.
TEST(MegatronDegrees, CoordinatesOfTheNotesExamples) {
  const auto j1 = Place(R"({"pipeline": 4, "expert": 16, "expertTensor": 1})", 128);
  ASSERT_TRUE(j1);
  EXPECT_EQ((*j1)[50], (MegatronCoordinates{.pipeline = 1, .expert = 2}));
  const auto j2 =
      Place(R"({"tensor": 2, "context": 2, "pipeline": 4, "expert": 16, "expertTensor": 1})", 64);
  ASSERT_TRUE(j2);
  EXPECT_EQ((*j2)[27], (MegatronCoordinates{.pipeline = 1, .tensor = 1, .expert = 11}));
  const auto j5 = Place(R"({"tensor": 4, "pipeline": 8, "expert": 16, "expertTensor": 1})", 128);
  ASSERT_TRUE(j5);
  EXPECT_EQ((*j5)[77], (MegatronCoordinates{.pipeline = 4, .tensor = 1, .expert = 13}));
}

// expertTensor 2, expert 2: rank 3 of 4 is x 1, ep 1.
TEST(MegatronDegrees, ExpertTensorIsInnermost) {
  const auto ranks = Place(R"({"tensor": 4, "expertTensor": 2, "expert": 2})", 4);
  ASSERT_TRUE(ranks);
  EXPECT_EQ((*ranks)[1], (MegatronCoordinates{.tensor = 1, .expert_tensor = 1}));
  EXPECT_EQ((*ranks)[2], (MegatronCoordinates{.tensor = 2, .expert = 1}));
  EXPECT_EQ((*ranks)[3], (MegatronCoordinates{.tensor = 3, .expert_tensor = 1, .expert = 1}));
}

// tp-cp-ep-pp-dp on 8 ranks, tp 2, pp 2, ep 2: dense r = tp + 2 * (pp + 2 * dp), so data must equal
// expertData (2 = 8 / (2 * 2)) or the grids disagree.
TEST(MegatronDegrees, StagesMayLieInsideData) {
  const auto ranks = Place(
      R"({"tensor": 2, "pipeline": 2, "expert": 2, "expertTensor": 1, "order": "tp-cp-ep-pp-dp"})",
      8);
  ASSERT_TRUE(ranks) << ToString(ranks.error());
  EXPECT_EQ((*ranks)[2].pipeline, 1);
  EXPECT_EQ((*ranks)[4].pipeline, 0);
  EXPECT_EQ((*ranks)[7], (MegatronCoordinates{.pipeline = 1, .tensor = 1, .expert = 1}));
  // tp 2, ep 4: the expert grid changes stage every 4 ranks, the dense one every 2.
  const auto bad = Place(
      R"({"tensor": 2, "pipeline": 2, "expert": 4, "expertTensor": 1, "order": "tp-cp-ep-pp-dp"})",
      8);
  ASSERT_FALSE(bad);
  EXPECT_THAT(ToString(bad.error()),
              HasSubstr("rank 2 is of stage 1 by its dense degrees and of 0"));
}

}  // namespace
}  // namespace reshard
