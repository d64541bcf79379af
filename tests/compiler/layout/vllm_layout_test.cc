#include "compiler/layout/vllm_layout.h"

#include <string>

#include "compiler/layout/model.h"
#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

GroupLayout Vllm(const Model& model, const std::string& fields, std::int64_t rank_count) {
  return Built(BuildVllmLayout, model, fields, rank_count);
}

std::string ErrorOf(const Model& model, const std::string& fields, std::int64_t rank_count) {
  return RefusalOf(BuildVllmLayout, model, fields, rank_count);
}

// Of the notes: one rank of eight holds 85,140,130,848 bytes of DeepSeek-V3 in FP8.
TEST(VllmLayout, BytesOfDeepSeekV3OnEightRanks) {
  const Model model = ReferenceModel("deepseek-v3");
  const GroupLayout group = Vllm(model, R"({"tensor": 8})", 128);
  // 16 engines are replicas.
  ASSERT_EQ(group.layouts.size(), 8U);
  for (const RankLayout& layout : group.layouts) {
    EXPECT_EQ(RegionBytes(model, layout), 85'140'130'848);
  }
  EXPECT_EQ(group.layout_of_rank[127], group.layout_of_rank[7]);
  EXPECT_NE(group.layout_of_rank[126], group.layout_of_rank[7]);
  EXPECT_THAT(group.recompute, ElementsAre("model.layers.{layer}.self_attn.W_UK_T",
                                           "model.layers.{layer}.self_attn.W_UV"));
}

TEST(VllmLayout, EveryTensorButThoseOfLayer61IsHeld) {
  const Model model = ReferenceModel("deepseek-v3");
  const GroupLayout group = Vllm(model, R"({"tensor": 8})", 8);
  std::vector<bool> held(model.tensors.size(), false);
  for (const RankLayout& layout : group.layouts) {
    for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
      held[static_cast<std::size_t>(layout.regions[r].tensor)] = true;
    }
  }
  for (std::size_t t = 0; t < held.size(); ++t) {
    const bool mtp = model.tensors[t].name.starts_with("model.layers.61.");
    ASSERT_EQ(held[t], !mtp) << model.tensors[t].name;
  }
}

TEST(VllmLayout, ParametersOfLatentAttention) {
  const Model model = ReferenceModel("deepseek-v3", 6);
  const GroupLayout group = Vllm(model, R"({"tensor": 8})", 8);
  const RankLayout& rank = OfRank(group, 3);
  const std::string name = "model.layers.5.self_attn.";
  // 1536 rows of the query's and 576 of key and value's down projection, whole on every rank; 12
  // and 5 rows of scales, 17 in all.
  EXPECT_THAT(ParameterText(model, rank, name + "fused_qkv_a_proj.weight", name),
              ElementsAre("F8_E4M3 [2112, 7168]",  //
                          "[0, 0] q_a_proj.weight [0:1536, 0:7168]",
                          "[1536, 0] kv_a_proj_with_mqa.weight [0:576, 0:7168]"));
  EXPECT_THAT(ParameterText(model, rank, name + "fused_qkv_a_proj.weight_scale_inv", name),
              ElementsAre("F32 [17, 56]",  //
                          "[0, 0] q_a_proj.weight_scale_inv [0:12, 0:56]",
                          "[12, 0] kv_a_proj_with_mqa.weight_scale_inv [0:5, 0:56]"));
  // 128 heads of 192 rows over eight ranks: 3072 rows, 24 blocks.
  EXPECT_THAT(ParameterText(model, rank, name + "q_b_proj.weight", name),
              ElementsAre("F8_E4M3 [3072, 1536]", "[0, 0] q_b_proj.weight [9216:12288, 0:1536]"));
  EXPECT_THAT(ParameterText(model, rank, name + "q_b_proj.weight_scale_inv", name),
              ElementsAre("F32 [24, 12]", "[0, 0] q_b_proj.weight_scale_inv [72:96, 0:12]"));
  EXPECT_THAT(ParameterText(model, rank, name + "kv_b_proj.weight", name),
              ElementsAre("F8_E4M3 [4096, 512]", "[0, 0] kv_b_proj.weight [12288:16384, 0:512]"));
  EXPECT_THAT(ParameterText(model, rank, name + "o_proj.weight", name),
              ElementsAre("F8_E4M3 [7168, 2048]", "[0, 0] o_proj.weight [0:7168, 6144:8192]"));
  EXPECT_THAT(ParameterText(model, rank, name + "o_proj.weight_scale_inv", name),
              ElementsAre("F32 [56, 16]", "[0, 0] o_proj.weight_scale_inv [0:56, 48:64]"));
  EXPECT_THAT(ParameterText(model, rank, name + "kv_a_layernorm.weight", name),
              ElementsAre("BF16 [512]", "[0] kv_a_layernorm.weight [0:512]"));
}

TEST(VllmLayout, RoutersAreWholeAndSharedExpertsCut) {
  const Model model = ReferenceModel("deepseek-v3");
  const GroupLayout group = Vllm(model, R"({"tensor": 8})", 8);
  const RankLayout& rank = OfRank(group, 7);
  const std::string name = "model.layers.60.mlp.";
  EXPECT_THAT(ParameterText(model, rank, name + "gate.weight", name),
              ElementsAre("BF16 [256, 7168]", "[0, 0] gate.weight [0:256, 0:7168]"));
  EXPECT_THAT(ParameterText(model, rank, name + "gate.e_score_correction_bias", name),
              ElementsAre("F32 [256]", "[0] gate.e_score_correction_bias [0:256]"));
  EXPECT_THAT(ParameterText(model, rank, name + "shared_experts.gate_up_proj.weight", name),
              ElementsAre("F8_E4M3 [512, 7168]",  //
                          "[0, 0] shared_experts.gate_proj.weight [1792:2048, 0:7168]",
                          "[256, 0] shared_experts.up_proj.weight [1792:2048, 0:7168]"));
  EXPECT_THAT(ParameterText(model, rank, name + "shared_experts.down_proj.weight", name),
              ElementsAre("F8_E4M3 [7168, 256]",
                          "[0, 0] shared_experts.down_proj.weight [0:7168, 1792:2048]"));
}

// Without expertParallel an engine of T8 and data 16 cuts each expert 128 ways: 2048 / 128 = 16
// rows of gate and of up. Rank 13 has t 5, dp 1: q = 13.
TEST(VllmLayout, ExpertsAreCutOverTensorAndData) {
  const Model model = ReferenceModel("deepseek-v3-bf16", 4);
  const GroupLayout group = Vllm(model, R"({"tensor": 8, "data": 16})", 128);
  EXPECT_EQ(group.layouts.size(), 128U);
  const std::string name = "model.layers.3.mlp.experts.";
  const std::vector<std::string> text =
      ParameterText(model, OfRank(group, 13), name + "routed_experts.w13_weight", name);
  ASSERT_EQ(text.size(), 1U + 2 * 256);
  EXPECT_EQ(text[0], "BF16 [256, 32, 7168]");
  EXPECT_EQ(text[1], "[0, 0, 0] 0.gate_proj.weight [208:224, 0:7168]");
  EXPECT_EQ(text[2], "[0, 16, 0] 0.up_proj.weight [208:224, 0:7168]");
  EXPECT_EQ(text[512], "[255, 16, 0] 255.up_proj.weight [208:224, 0:7168]");
  const std::vector<std::string> down =
      ParameterText(model, OfRank(group, 13), name + "routed_experts.w2_weight", name);
  EXPECT_EQ(down[0], "BF16 [256, 7168, 16]");
  EXPECT_EQ(down[1], "[0, 0, 0] 0.down_proj.weight [0:7168, 208:224]");
  // Attention knows tensor only.
  EXPECT_THAT(ParameterText(model, OfRank(group, 13), "model.layers.3.self_attn.o_proj.weight"),
              ElementsAre("BF16 [7168, 2048]",
                          "[0, 0] model.layers.3.self_attn.o_proj.weight [0:7168, 10240:12288]"));
}

// As independent engines each rank holds 256 rows of every expert.
TEST(VllmLayout, IndependentEnginesCutExpertsOverTensorAlone) {
  const Model model = ReferenceModel("deepseek-v3", 4);
  const GroupLayout group = Vllm(model, R"({"tensor": 8})", 16);
  const std::string name = "model.layers.3.mlp.experts.";
  const std::vector<std::string> text =
      ParameterText(model, OfRank(group, 13), name + "routed_experts.w13_weight", name);
  EXPECT_EQ(text[0], "F8_E4M3 [256, 512, 7168]");
  EXPECT_EQ(text[1], "[0, 0, 0] 0.gate_proj.weight [1280:1536, 0:7168]");
  const std::vector<std::string> scales =
      ParameterText(model, OfRank(group, 13), name + "routed_experts.w13_weight_scale_inv", name);
  EXPECT_EQ(scales[0], "F32 [256, 4, 56]");
  EXPECT_EQ(scales[1], "[0, 0, 0] 0.gate_proj.weight_scale_inv [10:12, 0:56]");
  EXPECT_EQ(scales[2], "[0, 2, 0] 0.up_proj.weight_scale_inv [10:12, 0:56]");
}

// With it rank q holds experts 2q and 2q + 1 whole, and the shared expert is whole on every rank.
TEST(VllmLayout, ExpertParallelRanksHoldWholeExperts) {
  const Model model = ReferenceModel("deepseek-v3", 4);
  const GroupLayout group =
      Vllm(model, R"({"tensor": 8, "data": 16, "expertParallel": true})", 128);
  const std::string name = "model.layers.3.mlp.";
  EXPECT_THAT(
      ParameterText(model, OfRank(group, 13), name + "experts.routed_experts.w13_weight", name),
      ElementsAre("F8_E4M3 [2, 4096, 7168]",  //
                  "[0, 0, 0] experts.26.gate_proj.weight [0:2048, 0:7168]",
                  "[0, 2048, 0] experts.26.up_proj.weight [0:2048, 0:7168]",
                  "[1, 0, 0] experts.27.gate_proj.weight [0:2048, 0:7168]",
                  "[1, 2048, 0] experts.27.up_proj.weight [0:2048, 0:7168]"));
  EXPECT_THAT(
      ParameterText(model, OfRank(group, 13), name + "shared_experts.down_proj.weight", name),
      ElementsAre("F8_E4M3 [7168, 2048]",
                  "[0, 0] shared_experts.down_proj.weight [0:7168, 0:2048]"));
}

// In one engine without data parallelism the shared expert stays cut.
TEST(VllmLayout, SharedExpertsStayCutWithoutDataParallelism) {
  const Model model = ReferenceModel("deepseek-v3", 4);
  const GroupLayout group = Vllm(model, R"({"tensor": 8, "expertParallel": true})", 8);
  EXPECT_THAT(
      ParameterText(model, OfRank(group, 1), "model.layers.3.mlp.shared_experts.down_proj.weight",
                    "model.layers.3.mlp."),
      ElementsAre("F8_E4M3 [7168, 256]",
                  "[0, 0] shared_experts.down_proj.weight [0:7168, 256:512]"));
}

// Four key-value heads at T8: ranks 2i and 2i + 1 hold head i both.
TEST(VllmLayout, KeyValueHeadsAreReplicatedBeyondTheirNumber) {
  const Model model = ReferenceModel("qwen3-235b", 1);
  const GroupLayout group = Vllm(model, R"({"tensor": 8})", 8);
  const std::string name = "model.layers.0.self_attn.";
  EXPECT_THAT(ParameterText(model, OfRank(group, 5), name + "qkv_proj.weight", name),
              ElementsAre("BF16 [1280, 4096]",  //
                          "[0, 0] q_proj.weight [5120:6144, 0:4096]",
                          "[1024, 0] k_proj.weight [256:384, 0:4096]",
                          "[1152, 0] v_proj.weight [256:384, 0:4096]"));
  EXPECT_EQ(ParameterText(model, OfRank(group, 4), name + "qkv_proj.weight", name)[2],
            "[1024, 0] k_proj.weight [256:384, 0:4096]");
  EXPECT_EQ(ParameterText(model, OfRank(group, 6), name + "qkv_proj.weight", name)[2],
            "[1024, 0] k_proj.weight [384:512, 0:4096]");
}

TEST(VllmLayout, KeyValueHeadsAreCutUpToTheirNumber) {
  const Model model = ReferenceModel("qwen3-235b", 1);
  const GroupLayout group = Vllm(model, R"({"tensor": 2})", 2);
  const std::string name = "model.layers.0.self_attn.";
  EXPECT_THAT(ParameterText(model, OfRank(group, 1), name + "qkv_proj.weight", name),
              ElementsAre("BF16 [4608, 4096]",  //
                          "[0, 0] q_proj.weight [4096:8192, 0:4096]",
                          "[4096, 0] k_proj.weight [256:512, 0:4096]",
                          "[4352, 0] v_proj.weight [256:512, 0:4096]"));
  EXPECT_EQ(ErrorOf(model, R"({"tensor": 4})", 4), "none");
  EXPECT_THAT(ErrorOf(model, R"({"tensor": 3})", 3), HasSubstr("is not divisible by 3"));
}

// 6100 rows are stored as 6144 = 64 * 96: 1536 on each of four ranks, 6100 - 4608 = 1492 real ones
// on the last.
TEST(VllmLayout, VocabularyIsPaddedTo64) {
  const Model model = ReferenceModel("tiny-moe");
  const GroupLayout group = Vllm(model, R"({"tensor": 4})", 8);
  EXPECT_THAT(ParameterText(model, OfRank(group, 2), "lm_head.weight"),
              ElementsAre("BF16 [1536, 512]", "[0, 0] lm_head.weight [3072:4608, 0:512]"));
  EXPECT_THAT(
      ParameterText(model, OfRank(group, 3), "model.embed_tokens.weight"),
      ElementsAre("BF16 [1536, 512]", "[0, 0] model.embed_tokens.weight [4608:6100, 0:512]"));
}

// 151936 = 64 * 2374 needs no padding, and does not divide by 6.
TEST(VllmLayout, PaddedVocabularyMustDivide) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 96,
          "num_hidden_layers": 1, "num_attention_heads": 6, "num_key_value_heads": 6,
          "head_dim": 16, "intermediate_size": 96, "vocab_size": 151936})");
  ASSERT_TRUE(model);
  EXPECT_THAT(ErrorOf(*model, R"({"tensor": 6})", 6),
              HasSubstr("padded to a multiple of 64: 151936 is not divisible by 6"));
}

// A tied LM head is the embedding itself; the last stage keeps a copy under the embedding's name.
TEST(VllmLayout, TiedHead) {
  const Model model = ReferenceModel("qwen3-4b");
  const GroupLayout one = Vllm(model, R"({"tensor": 8})", 8);
  EXPECT_THAT(ParameterNames(OfRank(one, 0)), Contains("model.embed_tokens.weight"));
  EXPECT_THAT(ParameterNames(OfRank(one, 0)), Not(Contains("lm_head.weight")));
  const GroupLayout two = Vllm(model, R"({"tensor": 2, "pipeline": 3})", 6);
  EXPECT_THAT(ParameterNames(OfRank(two, 1)), Contains("model.embed_tokens.weight"));
  EXPECT_THAT(ParameterNames(OfRank(two, 2)), Not(Contains("model.embed_tokens.weight")));
  EXPECT_THAT(
      ParameterText(model, OfRank(two, 5), "model.embed_tokens.weight"),
      ElementsAre("BF16 [75968, 2560]", "[0, 0] model.embed_tokens.weight [75968:151936, 0:2560]"));
  EXPECT_THAT(ParameterNames(OfRank(two, 5)), Contains("model.norm.weight"));
}

// 61 layers over 4 stages: 15, 15, 16, 15.
TEST(VllmLayout, StagesHoldTheirLayers) {
  const Model model = ReferenceModel("deepseek-v3");
  const GroupLayout group = Vllm(model, R"({"tensor": 8, "pipeline": 4})", 64);
  EXPECT_EQ(group.layouts.size(), 32U);
  const auto names = ParameterNames(OfRank(group, 16));  // stage 2
  EXPECT_THAT(names, Contains("model.layers.30.input_layernorm.weight"));
  EXPECT_THAT(names, Contains("model.layers.45.input_layernorm.weight"));
  EXPECT_THAT(names, Not(Contains("model.layers.29.input_layernorm.weight")));
  EXPECT_THAT(names, Not(Contains("model.layers.46.input_layernorm.weight")));
  EXPECT_THAT(names, Not(Contains("lm_head.weight")));
  EXPECT_EQ(group.layout_of_rank[48], group.layout_of_rank[16]);  // the second engine
}

TEST(VllmLayout, Fp8ShardsThatVllmDoesNotTakeAreRefusedByTensor) {
  const Model model = ReferenceModel("deepseek-v3", 4);
  // 18432 / 32 = 576 rows are four blocks and a half: vLLM's linear layers raise.
  EXPECT_THAT(ErrorOf(model, R"({"tensor": 32})", 32),
              HasSubstr("model.layers.0.mlp.gate_proj.weight: rows 0 to 576 of 18432 cut its FP8"));
  // 2048 / 32 = 64: vLLM would refine. 2048 / 128 = 16: below its finest block.
  EXPECT_THAT(ErrorOf(model, R"({"tensor": 8, "data": 4})", 32),
              HasSubstr("model.layers.3.mlp.experts.0.gate_proj.weight: a shard of 64 cuts its FP8 "
                        "blocks of 128; vLLM would refine its scales to blocks of 64"));
  EXPECT_THAT(ErrorOf(model, R"({"tensor": 8, "data": 16})", 128),
              HasSubstr("a shard of 16 cuts its FP8 blocks of 128, which vLLM cannot load"));
}

// Without scales nothing is refined: BF16 at T32.
TEST(VllmLayout, Bf16ShardsMayBeSmall) {
  EXPECT_EQ(ErrorOf(ReferenceModel("deepseek-v3-bf16", 4), R"({"tensor": 32})", 32), "none");
}

TEST(VllmLayout, ALayerThatLacksAnExpertIsRefused) {
  Model model = BareList(ReferenceModel("tiny-moe"));
  std::erase_if(model.tensors, [](const Tensor& tensor) {
    return tensor.name.starts_with("model.layers.2.mlp.experts.7.");
  });
  EXPECT_THAT(ErrorOf(model, "{}", 1),
              HasSubstr("layer 2 lacks expert 7 of 16: w13_weight and w2_weight would hold some"));
}

TEST(VllmLayout, AFusedParameterOfSomePartsIsRefused) {
  Model model = BareList(ReferenceModel("tiny-moe"));
  std::erase_if(model.tensors, [](const Tensor& tensor) {
    return tensor.name == "model.layers.2.self_attn.v_proj.weight";
  });
  EXPECT_THAT(ErrorOf(model, "{}", 1),
              HasSubstr("but no attention.v: qkv_proj.weight would hold some parts only"));
}

}  // namespace
}  // namespace reshard
