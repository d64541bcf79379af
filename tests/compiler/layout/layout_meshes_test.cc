#include "compiler/layout/layout_meshes.h"

#include <string>
#include <vector>

#include "foundation/strict_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<NamedMesh> Meshes(const std::string& kind, const std::string& fields,
                              std::int64_t rank_count) {
  const Result<JsonDocument> document = ParseJson(fields, "job.json");
  EXPECT_TRUE(document);
  Result<std::vector<NamedMesh>> meshes = MeshesOf(kind, JsonCursor(*document), rank_count);
  EXPECT_TRUE(meshes) << ToString(meshes.error());
  return meshes ? *std::move(meshes) : std::vector<NamedMesh>();
}

// "dp 2, tp 4" of a mesh.
std::string AxesOf(const NamedMesh& mesh) {
  std::string text = mesh.name + ":";
  for (const MeshAxis& axis : mesh.mesh.axes) {
    text += " " + axis.name + " " + std::to_string(axis.size);
  }
  return text;
}

TEST(LayoutMeshes, MegatronHasTwoGridsInItsOrder) {
  const auto meshes =
      Meshes("megatron", R"({"tensor": 2, "pipeline": 2, "expert": 4, "expertTensor": 1})", 16);
  ASSERT_EQ(meshes.size(), 2U);
  EXPECT_EQ(AxesOf(meshes[0]), "dense: pp 2 dp 4 cp 1 tp 2");
  EXPECT_EQ(AxesOf(meshes[1]), "expert: pp 2 edp 2 ep 4 etp 1");
  const auto other =
      Meshes("megatron", R"({"tensor": 2, "pipeline": 2, "order": "tp-cp-ep-pp-dp"})", 8);
  EXPECT_EQ(AxesOf(other[0]), "dense: dp 2 pp 2 cp 1 tp 2");
}

// r = t + T * (pp + P * dp): on two stages of two data ranks the expert ranks of stage 1 are 2, 3,
// 6, 7.
TEST(LayoutMeshes, VllmExpertsLieOverDataRanks) {
  const auto meshes = Meshes("vllm", R"({"tensor": 2, "pipeline": 2, "data": 2})", 8);
  EXPECT_EQ(AxesOf(meshes[0]), "dense: engine 1 dp 2 pp 2 tp 2");
  EXPECT_EQ(AxesOf(meshes[1]), "expert: engine 1 pp 2 ep 4");
  EXPECT_THAT(meshes[1].mesh.ranks, ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
}

TEST(LayoutMeshes, OfTheOthers) {
  const auto sglang = Meshes("sglang", R"({"tensor": 16, "attentionData": 4, "expert": 8})", 32);
  EXPECT_EQ(AxesOf(sglang[0]), "attention: engine 2 pp 1 dp 4 cp 1 tp 4");
  EXPECT_EQ(AxesOf(sglang[1]), "stage: engine 2 pp 1 tp 16");
  EXPECT_EQ(AxesOf(sglang[2]), "expert: engine 2 pp 1 edp 1 ep 8 etp 2");
  const auto fsdp = Meshes("fsdp", R"({"replicate": 2, "tensor": 2, "expert": 4})", 16);
  EXPECT_EQ(AxesOf(fsdp[0]), "dense: pp 1 replicate 2 shard 4 cp 1 tp 2");
  EXPECT_EQ(AxesOf(fsdp[1]), "expert: pp 1 replicate 2 eshard 2 ep 4");
  EXPECT_EQ(AxesOf(Meshes("hf", "{}", 1)[0]), "one: rank 1");
}

TEST(LayoutMeshes, ExplicitOnesKeepTheirNames) {
  const auto meshes = Meshes("explicit",
                             R"({"meshes": {"b": {"axes": [["x", 4]]},
                                            "a": {"axes": [["y", 1], ["z", 2]], "ranks": "2-3"}}})",
                             4);
  ASSERT_EQ(meshes.size(), 2U);
  EXPECT_EQ(AxesOf(meshes[0]), "b: x 4");
  EXPECT_EQ(AxesOf(meshes[1]), "a: y 1 z 2");
  EXPECT_THAT(meshes[1].mesh.ranks, ElementsAre(2, 3));
}

TEST(LayoutMeshes, BadDegreesAreRefused) {
  const Result<JsonDocument> document = ParseJson(R"({"tensor": 3})", "job.json");
  for (const char* kind : {"megatron", "vllm", "sglang", "fsdp", "torchtitan"}) {
    const auto meshes = MeshesOf(kind, JsonCursor(*document), 8);
    ASSERT_FALSE(meshes) << kind;
    EXPECT_THAT(ToString(meshes.error()), HasSubstr("divide")) << kind;
  }
}

}  // namespace
}  // namespace reshard
