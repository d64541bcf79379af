#include "compiler/layout/layout_description.h"

#include <string>
#include <vector>

#include "family_test_model.h"
#include "foundation/strict_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Described {
  std::vector<NamedMesh> meshes;
  std::vector<ParameterDescription> parameters;
  std::vector<std::string> not_held;

  const ParameterDescription& Of(const std::string& name) const {
    for (const ParameterDescription& parameter : parameters) {
      if (parameter.name == name) return parameter;
    }
    ADD_FAILURE() << "no parameter " << name;
    return parameters.front();
  }
  // "dense: R S(0)".
  std::string Placement(const std::string& name) const {
    const ParameterDescription& parameter = Of(name);
    if (!parameter.mesh) return "none";
    std::string text = meshes[*parameter.mesh].name + ":";
    for (const std::string& placement : parameter.placements) text += " " + placement;
    return text;
  }
};

Described Describe(const std::string& kind, const Model& model, const std::string& fields,
                   std::int64_t rank_count) {
  const Result<JsonDocument> document = ParseJson(fields, "job.json");
  EXPECT_TRUE(document);
  const JsonCursor cursor(*document);
  Described described;
  const Result<GroupLayout> group = FindLayoutBuilder(kind)(model, cursor, rank_count);
  EXPECT_TRUE(group) << ToString(group.error());
  Result<std::vector<NamedMesh>> meshes = MeshesOf(kind, cursor, rank_count);
  EXPECT_TRUE(meshes) << ToString(meshes.error());
  if (!group || !meshes) return described;
  described.meshes = *std::move(meshes);
  Result<std::vector<ParameterDescription>> parameters =
      DescribeParameters(*group, described.meshes);
  EXPECT_TRUE(parameters) << ToString(parameters.error());
  if (parameters) described.parameters = *std::move(parameters);
  described.not_held = TensorsNotHeld(model, *group);
  return described;
}

TEST(LayoutDescription, BytesBeyond64BitsAreRefused) {
  const std::vector<std::int64_t> shape{std::int64_t{1} << 62};
  RankLayout layout;
  layout.parameters = {{"w", DType::kU8, shape}};
  GroupLayout group;
  group.layouts = {layout};
  group.layout_of_rank = {0, 0};
  const auto described = DescribeParameters(group, {});
  ASSERT_FALSE(described);
  EXPECT_EQ(described.error().place, "w");
  EXPECT_EQ(described.error().reason, "its bytes on all ranks do not fit 64 bits");
}

TEST(LayoutDescription, PlacementsOfAnExplicitLayoutAreThoseItSays) {
  const Result<Model> model = ModelOf(
      R"({"a": {"shape": [8, 6], "dtype": "BF16"}, "b": {"shape": [8, 6], "dtype": "F32"},
          "c": {"shape": [3], "dtype": "BF16"}, "d": {"shape": [5], "dtype": "U8"},
          "e": {"shape": [5], "dtype": "U8"}})");
  ASSERT_TRUE(model);
  const Described described = Describe("explicit", *model,
                                       R"json({"meshes": {"m": {"axes": [["x", 2], ["y", 3]]},
                         "n": {"axes": [["z", 2]], "ranks": "4,5"}},
              "tensors": [{"match": "a", "mesh": "m", "placements": ["S(0)", "S(1)"]},
                          {"match": "b", "mesh": "m", "placements": ["R", "S(1)"]},
                          {"match": "c", "mesh": "m", "placements": ["R", "R"]},
                          {"match": "d", "mesh": "n", "placements": ["S(0)"]},
                          {"match": "e", "held": false}]})json",
                                       6);
  EXPECT_EQ(described.Placement("a"), "m: S(0) S(1)");
  EXPECT_EQ(described.Placement("b"), "m: R S(1)");
  EXPECT_EQ(described.Placement("c"), "m: R R");
  EXPECT_EQ(described.Placement("d"), "n: S(0)");
  EXPECT_THAT(described.not_held, ElementsAre("e"));
  const ParameterDescription& d = described.Of("d");
  EXPECT_EQ(d.ranks, 2);
  EXPECT_EQ(d.bytes, 5);
  EXPECT_EQ(d.bytes_max, 3);
  EXPECT_THAT(d.shapes, ElementsAre(Pair(ElementsAre(3), 1), Pair(ElementsAre(2), 1)));
  const ParameterDescription& b = described.Of("b");
  EXPECT_EQ(b.bytes, 2 * 8 * 6 * 4);
  EXPECT_EQ(b.padding_bytes, 0);
  EXPECT_THAT(b.shapes, ElementsAre(Pair(ElementsAre(8, 2), 6)));
}

// A cut along two dims at once is no placement.
TEST(LayoutDescription, WhatNoMeshExplainsIsSaid) {
  const Result<Model> model = ModelOf(R"({"t": {"shape": [2, 2], "dtype": "BF16"}})");
  ASSERT_TRUE(model);
  const Described described = Describe("explicit", *model,
                                       R"({"meshes": {"m": {"axes": [["x", 2]]}},
      "regions": [{"rank": 0, "tensor": "t", "box": [[0, 1], [0, 1]], "parameter": "p",
                   "shape": [1, 1], "at": [0, 0]},
                  {"rank": 1, "tensor": "t", "box": [[1, 2], [1, 2]], "parameter": "p",
                   "shape": [1, 1], "at": [0, 0]}]})",
                                       2);
  EXPECT_EQ(described.Placement("p"), "none");
}

// Eight vLLM ranks and four key-value heads: q is cut, k and v by pairs. Sixteen expert slots are
// dealt out over the mesh of experts, the padded vocabulary is cut, norms are whole.
TEST(LayoutDescription, OfAnEngine) {
  const Model model = ReferenceModel("qwen3-235b", 1);
  const Described described =
      Describe("vllm", model, R"({"tensor": 8, "expertParallel": true})", 16);
  EXPECT_EQ(described.Placement("model.layers.0.self_attn.qkv_proj.weight"),
            "dense: R R R S(0)|S(0)x2");
  EXPECT_EQ(described.Placement("model.layers.0.self_attn.o_proj.weight"), "dense: R R R S(1)");
  EXPECT_EQ(described.Placement("model.layers.0.mlp.experts.routed_experts.w13_weight"),
            "expert: R R tensors");
  EXPECT_EQ(described.Of("model.layers.0.mlp.experts.routed_experts.w13_weight").tensors, 256);
  EXPECT_EQ(described.Placement("lm_head.weight"), "dense: R R R S(0)");
  EXPECT_EQ(described.Placement("model.norm.weight"), "dense: R R R R");
  EXPECT_THAT(described.not_held, IsEmpty());
}

// Rows behind the vocabulary: 6100 stored as 6144 over four ranks, 44 rows of 512 BF16 elements.
TEST(LayoutDescription, PaddingCounts) {
  const Model model = ReferenceModel("tiny-moe");
  const Described described = Describe("vllm", model, R"({"tensor": 4})", 4);
  EXPECT_EQ(described.Of("lm_head.weight").padding_bytes, 44 * 512 * 2);
}

// An expert of Megatron's is on the grid of experts: one expert rank of sixteen has it, both
// replicas. Its stage alone has a layer.
TEST(LayoutDescription, OfATrainer) {
  const Model model = ReferenceModel("deepseek-v3-bf16", 8);
  const Described described = Describe(
      "megatron", model, R"({"tensor": 2, "pipeline": 2, "expert": 4, "expertTensor": 1})", 16);
  EXPECT_EQ(described.Placement("decoder.layers.5.mlp.experts.linear_fc1.weight33"),
            "expert: one R one R");
  EXPECT_EQ(described.Placement("decoder.layers.5.self_attention.linear_q_up_proj.weight"),
            "dense: one R R S(0)");
  EXPECT_EQ(described.not_held.front(), "model.layers.8.eh_proj.weight");
}

// FSDP over tensor parallelism, some shards empty.
TEST(LayoutDescription, OfFsdp) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 4,
          "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2,
          "head_dim": 2, "intermediate_size": 6, "vocab_size": 5})");
  ASSERT_TRUE(model);
  const Described described = Describe("fsdp", *model, R"({"tensor": 2, "replicate": 2})", 16);
  EXPECT_EQ(described.Placement("model.layers.0.mlp.down_proj.weight"), "dense: R R S(0) R S(1)");
  EXPECT_EQ(described.Placement("model.embed_tokens.weight"), "dense: R R S(0) R S(0)");
  EXPECT_EQ(described.Placement("model.layers.0.self_attn.q_norm.weight"), "dense: R R S(0) R R");
}

}  // namespace
}  // namespace reshard
