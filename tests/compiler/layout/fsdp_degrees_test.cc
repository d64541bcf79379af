#include "compiler/layout/fsdp_degrees.h"

#include <string>

#include "foundation/strict_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

Result<FsdpDegrees> Read(const std::string& json, std::int64_t rank_count) {
  const Result<JsonDocument> document = ParseJson(json, "job.json");
  if (!document) return tl::unexpected(document.error());
  return ReadFsdpDegrees(JsonCursor(*document), rank_count);
}

std::string ErrorOf(const std::string& json, std::int64_t rank_count) {
  const Result<FsdpDegrees> degrees = Read(json, rank_count);
  return degrees ? "none" : ToString(degrees.error());
}

// The worked example: 64 ranks, two stages, shard 8, tensor 4, expert 8. 45 =
// 32 + 13, 13 = 3 * 4 + 1 on the dense mesh and 1 * 8 + 5 on the one of
// experts.
TEST(FsdpDegrees, Rank45Of64) {
  const Result<FsdpDegrees> degrees = Read(R"({"pipeline": 2, "tensor": 4, "expert": 8})", 64);
  ASSERT_TRUE(degrees) << ToString(degrees.error());
  EXPECT_EQ(degrees->shard, 8);
  EXPECT_EQ(degrees->expert_shards(), 4);
  const FsdpCoordinates expected{
      .pipeline = 1, .shard = 3, .tensor = 1, .expert_shard = 1, .expert = 5};
  EXPECT_EQ(PlaceFsdpRank(*degrees, 45), expected);
}

// Ranks numbered by counting through nested loops, the innermost fastest, once
// for each mesh.
TEST(FsdpDegrees, CoordinatesAgreeWithCounting) {
  const Result<FsdpDegrees> degrees = Read(
      R"({"pipeline": 2, "replicate": 3, "shard": 2, "context": 2, "tensor": 3, "expert": 6})", 72);
  ASSERT_TRUE(degrees) << ToString(degrees.error());
  std::int64_t rank = 0;
  for (std::int64_t pipeline = 0; pipeline < 2; ++pipeline) {
    for (std::int64_t replicate = 0; replicate < 3; ++replicate) {
      for (std::int64_t shard = 0; shard < 2; ++shard) {
        for (std::int64_t context = 0; context < 2; ++context) {
          for (std::int64_t tensor = 0; tensor < 3; ++tensor) {
            const FsdpCoordinates at = PlaceFsdpRank(*degrees, rank++);
            EXPECT_EQ(at.pipeline, pipeline);
            EXPECT_EQ(at.shard, 2 * shard + context);
            EXPECT_EQ(at.tensor, tensor);
          }
        }
      }
    }
  }
  rank = 0;
  for (std::int64_t replica = 0; replica < 6; ++replica) {
    for (std::int64_t shard = 0; shard < 2; ++shard) {
      for (std::int64_t expert = 0; expert < 6; ++expert) {
        const FsdpCoordinates at = PlaceFsdpRank(*degrees, rank++);
        EXPECT_EQ(at.expert_shard, shard);
        EXPECT_EQ(at.expert, expert);
      }
    }
  }
}

TEST(FsdpDegrees, BadDegreesAreRefused) {
  EXPECT_THAT(ErrorOf(R"({"tensor": 3})", 8),
              HasSubstr("pipeline x replicate x context x tensor = 1 x 1 x 1 x "
                        "3 does not divide "
                        "the 8 GPUs"));
  EXPECT_THAT(ErrorOf(R"({"tensor": 4611686018427387904, "context": 4})", 8),
              HasSubstr("does not divide the 8 GPUs"));
  EXPECT_THAT(ErrorOf(R"({"tensor": 2, "shard": 2})", 8),
              HasSubstr("2 does not match the 4 that 8 GPUs and the other degrees leave"));
  EXPECT_THAT(ErrorOf(R"({"tensor": 2, "expert": 3})", 8),
              HasSubstr("3 does not divide shard x context x tensor = 8"));
  EXPECT_THAT(ErrorOf(R"({"tensor": 0})", 8), HasSubstr("tensor"));
  EXPECT_EQ(ErrorOf(R"({"tensor": 2, "shard": 4})", 8), "none");
}

}  // namespace
}  // namespace reshard
