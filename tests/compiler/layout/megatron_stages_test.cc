#include "compiler/layout/megatron_stages.h"

#include <algorithm>
#include <string>

#include "foundation/strict_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

Result<MegatronStages> Place(const std::string& json, std::int64_t stages, std::int64_t layers,
                             std::int64_t mtp = 0) {
  const Result<JsonDocument> document = ParseJson(json, "job.json");
  if (!document) return tl::unexpected(document.error());
  return PlaceMegatronLayers(JsonCursor(*document), stages, layers, mtp);
}

// The stage of each layer as digits: "0011".
std::string StagesOf(const std::string& json, std::int64_t stages, std::int64_t layers,
                     std::int64_t mtp = 0) {
  const Result<MegatronStages> placed = Place(json, stages, layers, mtp);
  if (!placed) return ToString(placed.error());
  std::string text;
  for (const std::int64_t stage : placed->of_layer) text += std::to_string(stage);
  return text;
}

TEST(MegatronStages, Even) {
  EXPECT_EQ(StagesOf("{}", 1, 3), "000");
  EXPECT_EQ(StagesOf("{}", 4, 8), "00112233");
  EXPECT_THAT(StagesOf("{}", 4, 61), HasSubstr("61 layers do not divide by 4 stages"));
  EXPECT_EQ(StagesOf("{}", 4, 0), "");
}

// 8 layers, P2, v2: stage 0 has {0, 1, 4, 5}.
TEST(MegatronStages, VirtualStagesTakeTurns) {
  EXPECT_EQ(StagesOf(R"({"virtualStages": 2})", 2, 8), "00110011");
  EXPECT_THAT(StagesOf(R"({"virtualStages": 3})", 2, 8),
              HasSubstr("8 layers do not divide by 2 stages of 3 chunks"));
  EXPECT_THAT(StagesOf(R"({"virtualStages": 4611686018427387904})", 4, 8),
              HasSubstr("are too many"));
}

// What counts as a layer takes the place of one on its chunk: 61 and the embedding are 31 on either
// of two stages, 6 with both ends two on each of four chunks.
TEST(MegatronStages, EmbeddingAndLossMayCountAsLayers) {
  const auto embedding = Place(R"({"accountForEmbedding": true})", 2, 61);
  ASSERT_TRUE(embedding) << ToString(embedding.error());
  EXPECT_EQ(std::count(embedding->of_layer.begin(), embedding->of_layer.end(), 0), 30);
  EXPECT_EQ(StagesOf(R"({"accountForLoss": true})", 2, 5), "00011");
  const std::string both = R"("accountForEmbedding": true, "accountForLoss": true)";
  EXPECT_EQ(StagesOf("{" + both + "}", 4, 6), "011223");
  EXPECT_EQ(StagesOf("{" + both + R"(, "virtualStages": 2})", 2, 6), "011001");
  EXPECT_EQ(StagesOf("{" + both + "}", 1, 2), "00");
  EXPECT_THAT(StagesOf("{" + both + "}", 4, 8),
              HasSubstr("8 layers, 10 with what counts as one, do not divide by 4 stages"));
  EXPECT_THAT(StagesOf(R"({"accountForLoss": true, "layersPerStage": [3, 2]})", 2, 5),
              HasSubstr("accountForLoss: goes with even stages only"));
}

TEST(MegatronStages, Listed) {
  EXPECT_EQ(StagesOf(R"({"layersPerStage": [3, 0, 2]})", 3, 5), "00022");
  // Chunk by chunk with virtual stages: stage 0 one, stage 1 two, stage 0 two, stage 1 none.
  EXPECT_EQ(StagesOf(R"({"layersPerStage": [1, 2, 2, 0], "virtualStages": 2})", 2, 5), "01100");
  EXPECT_THAT(StagesOf(R"({"layersPerStage": [3, 1]})", 2, 5),
              HasSubstr("job.json: layersPerStage: the counts do not add up to the model's 5"));
  EXPECT_THAT(StagesOf(R"({"layersPerStage": [9223372036854775807, 9223372036854775807]})", 2, 5),
              HasSubstr("do not add up"));
  EXPECT_THAT(StagesOf(R"({"layersPerStage": [3, 1, 1]})", 2, 5),
              HasSubstr("expected 2 counts, got 3"));
  EXPECT_THAT(StagesOf(R"({"layersPerStage": [6, -1]})", 2, 5), HasSubstr("layersPerStage"));
}

TEST(MegatronStages, FirstAndLast) {
  EXPECT_EQ(StagesOf(R"({"firstStageLayers": 1, "lastStageLayers": 2})", 4, 7), "0112233");
  EXPECT_EQ(StagesOf(R"({"firstStageLayers": 1})", 3, 5), "01122");
  EXPECT_EQ(StagesOf(R"({"lastStageLayers": 1})", 3, 5), "00112");
  EXPECT_EQ(StagesOf(R"({"firstStageLayers": 4, "lastStageLayers": 1})", 2, 5), "00001");
  EXPECT_THAT(StagesOf(R"({"firstStageLayers": 1})", 3, 6),
              HasSubstr("5 layers do not divide over the 2 other stages of 3"));
  EXPECT_THAT(StagesOf(R"({"firstStageLayers": 4, "lastStageLayers": 2})", 2, 5),
              HasSubstr("do not divide"));
  EXPECT_THAT(StagesOf(R"({"firstStageLayers": 9})", 2, 5), HasSubstr("firstStageLayers"));
}

// a = 2, b = 4, M = 8 on two middle stages, v = 2: each chunk has 1 | 2 | 2 | 2 layers.
TEST(MegatronStages, FirstAndLastWithVirtualStages) {
  EXPECT_EQ(StagesOf(R"({"firstStageLayers": 2, "lastStageLayers": 4, "virtualStages": 2})", 4, 14),
            "01122330112233");
  EXPECT_THAT(
      StagesOf(R"({"firstStageLayers": 3, "lastStageLayers": 3, "virtualStages": 2})", 4, 14),
      HasSubstr("3 layers of a stage do not divide by its 2 chunks"));
}

// The published layout of DeepSeek-V3 on four stages: 16, 16, 16, 13 with prediction layer and
// loss.
TEST(MegatronStages, PipelineLayout) {
  const std::string layout = R"({"pipelineLayout": "Et*16|(t*16|)*2t*13mL"})";
  const Result<MegatronStages> placed = Place(layout, 4, 61, 1);
  ASSERT_TRUE(placed) << ToString(placed.error());
  const std::vector<std::int64_t>& of_layer = placed->of_layer;
  ASSERT_EQ(of_layer.size(), 61U);
  EXPECT_EQ(of_layer[15], 0);
  EXPECT_EQ(of_layer[16], 1);
  EXPECT_EQ(of_layer[47], 2);
  EXPECT_EQ(of_layer[48], 3);
  EXPECT_EQ(placed->mtp, 3);
  // Entry i belongs to stage i % P: two chunks a stage, one of them empty.
  EXPECT_EQ(StagesOf(R"({"pipelineLayout": "Et|tt|t|L", "virtualStages": 2})", 2, 4), "0110");
  EXPECT_EQ(Place(R"({"pipelineLayout": "E,t| t|m|L"})", 4, 2, 1)->mtp, 2);
  EXPECT_EQ(StagesOf(R"({"pipelineLayout": "E((t*2|)*2)*1L"})", 3, 4), "0011");
}

TEST(MegatronStages, BadPipelineLayoutsAreRefused) {
  const auto error_of = [](const std::string& layout, std::int64_t mtp = 0) {
    return StagesOf(R"({"pipelineLayout": ")" + layout + "\"}", 2, 4, mtp);
  };
  EXPECT_EQ(error_of("Ett|ttL"), "0011");
  EXPECT_THAT(error_of("EttttL"), HasSubstr("has 1 chunks, expected 2"));
  EXPECT_THAT(error_of("Ett|tL"), HasSubstr("has 3 layers, the model 4"));
  EXPECT_THAT(error_of("Ett|ttmL"), HasSubstr("mind that they are held only with \"mtp\": true"));
  EXPECT_THAT(error_of("Ett|tt"), HasSubstr("does not begin with its one E"));
  EXPECT_THAT(error_of("tEt|ttL"), HasSubstr("does not begin with its one E"));
  EXPECT_THAT(error_of("Ett|tmtL", 1), HasSubstr("t behind m"));
  EXPECT_THAT(error_of("Ettttm|L", 1), HasSubstr("not to stage 0"));
  EXPECT_THAT(error_of("Ex|L"), HasSubstr("unexpected 'x'"));
  EXPECT_THAT(error_of("E(t|L"), HasSubstr("'(' without ')'"));
  EXPECT_THAT(error_of("Et)|L"), HasSubstr("')' without '('"));
  EXPECT_THAT(error_of("Et*|L"), HasSubstr("'*' without a count"));
  EXPECT_THAT(error_of("Et*99999999999999999999|L"), HasSubstr("too long"));
  EXPECT_THAT(error_of("E((((t*1000)*1000)*1000)*1000)|L"), HasSubstr("too long"));
  EXPECT_THAT(error_of(std::string(100, '(')), HasSubstr("nested over 16 levels"));
}

TEST(MegatronStages, TheWaysToSayItExcludeEachOther) {
  EXPECT_THAT(StagesOf(R"({"layersPerStage": [2, 2], "firstStageLayers": 2})", 2, 4),
              HasSubstr("exclude each other"));
}

}  // namespace
}  // namespace reshard
