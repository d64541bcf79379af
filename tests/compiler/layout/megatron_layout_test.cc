#include "compiler/layout/megatron_layout.h"

#include <algorithm>
#include <set>
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

GroupLayout Megatron(const Model& model, const std::string& fields, std::int64_t rank_count) {
  return Built(BuildMegatronLayout, model, fields, rank_count);
}

std::string ErrorOf(const Model& model, const std::string& fields, std::int64_t rank_count) {
  return RefusalOf(BuildMegatronLayout, model, fields, rank_count);
}

// The experts of the layer whose first linear the rank holds, ascending.
std::set<std::int64_t> ExpertsOf(const RankLayout& layout, std::int64_t layer) {
  const std::string prefix =
      "decoder.layers." + std::to_string(layer) + ".mlp.experts.linear_fc1.weight";
  std::set<std::int64_t> experts;
  for (const Parameter& parameter : layout.parameters) {
    if (!parameter.name.starts_with(prefix) || parameter.name.ends_with("_scale_inv")) continue;
    experts.insert(std::stoll(parameter.name.substr(prefix.size())));
  }
  return experts;
}

std::set<std::int64_t> LayersOf(const RankLayout& layout) {
  const std::string prefix = "decoder.layers.";
  std::set<std::int64_t> layers;
  for (const Parameter& parameter : layout.parameters) {
    if (parameter.name.starts_with(prefix)) {
      layers.insert(std::stoll(parameter.name.substr(prefix.size())));
    }
  }
  return layers;
}

std::set<std::int64_t> Range(std::int64_t begin, std::int64_t end) {
  std::set<std::int64_t> range;
  for (std::int64_t i = begin; i < end; ++i) range.insert(i);
  return range;
}

constexpr const char* kJ1 =
    R"({"pipeline": 4, "expert": 16, "expertTensor": 1, "layersPerStage": [16, 15, 15, 15]})";

// 128 ranks, T1 C1 P4 N16 X1: D = 32, Y = 2. Rank 50 = 0 + 1 * (0 + 1 * (18 + 32 * 1)): stage 1, dp
// 18; and 50 = 0 + 1 * (2 + 16 * (1 + 2 * 1)): ep 2, edp 1. Expert rank 2 of 16 holds 32..47 of
// 256.
TEST(MegatronLayout, RankOfDeepSeekV3OnFourStages) {
  const Model model = ReferenceModel("deepseek-v3");
  const GroupLayout group = Megatron(model, kJ1, 128);
  // 4 stages times 16 expert ranks are distinct; edp 0 and 1 are replicas.
  EXPECT_EQ(group.layouts.size(), 64U);
  const RankLayout& rank = OfRank(group, 50);
  EXPECT_EQ(LayersOf(rank), Range(16, 31));
  EXPECT_EQ(ExpertsOf(rank, 20), Range(32, 48));
  EXPECT_EQ(group.layout_of_rank[50], group.layout_of_rank[34]);  // edp 0
  EXPECT_NE(group.layout_of_rank[50], group.layout_of_rank[51]);
}

// Of the notes: bytes of a rank, dense + expert, on stages of 16, 15, 15 and 15 layers.
TEST(MegatronLayout, BytesOfDeepSeekV3OnFourStages) {
  const Model model = ReferenceModel("deepseek-v3");
  const GroupLayout group = Megatron(model, kJ1, 128);
  EXPECT_EQ(RegionBytes(model, OfRank(group, 0)), 6'658'060'800 + 9'162'596'352);
  EXPECT_EQ(RegionBytes(model, OfRank(group, 50)), 3'523'587'360 + 10'572'226'560);
  EXPECT_EQ(RegionBytes(model, OfRank(group, 64)), 3'523'587'360 + 10'572'226'560);
  EXPECT_EQ(RegionBytes(model, OfRank(group, 127)), 5'376'959'776 + 10'572'226'560);
}

TEST(MegatronLayout, EveryTensorButThoseOfLayer61IsHeld) {
  const Model model = ReferenceModel("deepseek-v3");
  const GroupLayout group = Megatron(model, kJ1, 128);
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

TEST(MegatronLayout, ParametersOfLatentAttentionAndExperts) {
  const Model model = ReferenceModel("deepseek-v3");
  const GroupLayout group = Megatron(model, kJ1, 128);
  const RankLayout& first = OfRank(group, 0);
  const std::string prefix = "model.layers.3.";
  EXPECT_THAT(
      ParameterText(model, first, "decoder.layers.3.self_attention.linear_q_down_proj.weight",
                    prefix),
      ElementsAre("F8_E4M3 [1536, 7168]", "[0, 0] self_attn.q_a_proj.weight [0:1536, 0:7168]"));
  EXPECT_THAT(
      ParameterText(model, first,
                    "decoder.layers.3.self_attention.linear_kv_down_proj.weight._rowwise_scale_inv",
                    prefix),
      ElementsAre("F32 [5, 56]",
                  "[0, 0] self_attn.kv_a_proj_with_mqa.weight_scale_inv [0:5, 0:56]"));
  EXPECT_THAT(
      ParameterText(model, first,
                    "decoder.layers.3.self_attention.linear_q_up_proj.layer_norm_weight", prefix),
      ElementsAre("BF16 [1536]", "[0] self_attn.q_a_layernorm.weight [0:1536]"));
  EXPECT_THAT(ParameterText(model, first, "decoder.layers.3.input_layernorm.weight", prefix),
              ElementsAre("BF16 [7168]", "[0] input_layernorm.weight [0:7168]"));
  EXPECT_THAT(ParameterText(model, first, "decoder.layers.3.pre_mlp_layernorm.weight", prefix),
              ElementsAre("BF16 [7168]", "[0] post_attention_layernorm.weight [0:7168]"));
  EXPECT_THAT(ParameterText(model, first, "decoder.layers.3.mlp.router.expert_bias", prefix),
              ElementsAre("F32 [256]", "[0] mlp.gate.e_score_correction_bias [0:256]"));
  EXPECT_THAT(
      ParameterText(model, first, "decoder.layers.3.mlp.experts.linear_fc1.weight15", prefix),
      ElementsAre("F8_E4M3 [4096, 7168]", "[0, 0] mlp.experts.15.gate_proj.weight [0:2048, 0:7168]",
                  "[2048, 0] mlp.experts.15.up_proj.weight [0:2048, 0:7168]"));
  EXPECT_THAT(
      ParameterText(model, first,
                    "decoder.layers.3.mlp.experts.linear_fc1.weight15._rowwise_scale_inv", prefix),
      ElementsAre("F32 [32, 56]", "[0, 0] mlp.experts.15.gate_proj.weight_scale_inv [0:16, 0:56]",
                  "[16, 0] mlp.experts.15.up_proj.weight_scale_inv [0:16, 0:56]"));
  EXPECT_THAT(
      ParameterText(model, first, "decoder.layers.3.mlp.shared_experts.linear_fc2.weight", prefix),
      ElementsAre("F8_E4M3 [7168, 2048]",
                  "[0, 0] mlp.shared_experts.down_proj.weight [0:7168, 0:2048]"));
  // Layers below first_k_dense_replace = 3 are dense; their norm sits inside the first linear.
  EXPECT_THAT(
      ParameterText(model, first, "decoder.layers.2.mlp.linear_fc1.layer_norm_weight"),
      ElementsAre("BF16 [7168]", "[0] model.layers.2.post_attention_layernorm.weight [0:7168]"));
}

// 64 ranks, T2 C2 P4 N16 X1: D = 4, Y = 1. Rank 27 = 1 + 2 * (1 + 2 * (2 + 4 * 1)): tp 1, cp 1, dp
// 2, stage 1; and 27 = 11 + 16 * 1: ep 11, experts 88..95 of 128. Layers 24, 23, 24, 23 a stage.
TEST(MegatronLayout, RankOfQwen3MoeWithTensorAndContextParallelism) {
  const Model model = ReferenceModel("qwen3-235b");
  const std::string fields = R"({"tensor": 2, "context": 2, "pipeline": 4, "expert": 16,
      "expertTensor": 1, "data": 4, "expertData": 1, "layersPerStage": [24, 23, 24, 23]})";
  const GroupLayout group = Megatron(model, fields, 64);
  const RankLayout& rank = OfRank(group, 27);
  EXPECT_EQ(LayersOf(rank), Range(24, 47));
  EXPECT_EQ(ExpertsOf(rank, 30), Range(88, 96));
  // Groups 2 and 3 of four: 16 query heads of 128 rows, k, v each.
  EXPECT_THAT(ParameterText(model, rank, "decoder.layers.30.self_attention.linear_qkv.weight",
                            "model.layers.30.self_attn."),
              ElementsAre("BF16 [4608, 4096]",  //
                          "[0, 0] q_proj.weight [4096:6144, 0:4096]",
                          "[2048, 0] k_proj.weight [256:384, 0:4096]",
                          "[2176, 0] v_proj.weight [256:384, 0:4096]",
                          "[2304, 0] q_proj.weight [6144:8192, 0:4096]",
                          "[4352, 0] k_proj.weight [384:512, 0:4096]",
                          "[4480, 0] v_proj.weight [384:512, 0:4096]"));
  EXPECT_THAT(ParameterText(model, rank, "decoder.layers.30.self_attention.linear_proj.weight",
                            "model.layers.30.self_attn."),
              ElementsAre("BF16 [4096, 4096]", "[0, 0] o_proj.weight [0:4096, 4096:8192]"));
  // expertTensor 1: whole experts.
  EXPECT_THAT(ParameterText(model, rank, "decoder.layers.30.mlp.experts.linear_fc2.weight88",
                            "model.layers.30.mlp.experts.88."),
              ElementsAre("BF16 [4096, 1536]", "[0, 0] down_proj.weight [0:4096, 0:1536]"));
  EXPECT_THAT(
      ParameterText(model, rank, "decoder.layers.30.self_attention.linear_qkv.layer_norm_weight"),
      ElementsAre("BF16 [4096]", "[0] model.layers.30.input_layernorm.weight [0:4096]"));
  EXPECT_THAT(ParameterText(model, rank, "decoder.layers.30.self_attention.q_layernorm.weight"),
              ElementsAre("BF16 [128]", "[0] model.layers.30.self_attn.q_norm.weight [0:128]"));
}

// expertTensor defaults to tensor: 2 * 16 * 4 = 128 does not divide 64.
TEST(MegatronLayout, ExpertTensorDefaultsToTensor) {
  EXPECT_THAT(ErrorOf(ReferenceModel("qwen3-235b", 4),
                      R"({"tensor": 2, "context": 2, "pipeline": 4, "expert": 16})", 64),
              HasSubstr("expertTensor x expert x pipeline = 2 x 16 x 4 does not divide the 64"));
}

// 128 ranks, T4 P8 N16 X1: D = 4. Rank 77 = 1 + 4 * (3 + 4 * 4): tp 1, dp 3, stage 4; 77 = 13 + 16
// * 4: ep 13, experts 104..111. First layer of stage 4: 11 + 3 * 12 = 47.
TEST(MegatronLayout, RankOfQwen3MoeOnEightStages) {
  const Model model = ReferenceModel("qwen3-235b");
  const GroupLayout group = Megatron(model,
                                     R"({"tensor": 4, "pipeline": 8, "expert": 16,
      "expertTensor": 1, "firstStageLayers": 11, "lastStageLayers": 11})",
                                     128);
  const RankLayout& rank = OfRank(group, 77);
  EXPECT_EQ(LayersOf(rank), Range(47, 59));
  EXPECT_EQ(ExpertsOf(rank, 50), Range(104, 112));
  // Four ranks, four groups: rank 1 has group 1.
  EXPECT_THAT(ParameterText(model, rank, "decoder.layers.50.self_attention.linear_qkv.weight",
                            "model.layers.50.self_attn."),
              ElementsAre("BF16 [2304, 4096]",  //
                          "[0, 0] q_proj.weight [2048:4096, 0:4096]",
                          "[2048, 0] k_proj.weight [128:256, 0:4096]",
                          "[2176, 0] v_proj.weight [128:256, 0:4096]"));
}

// (64 + 2 * 4) * 128 = 9216 rows over 8 ranks are 1152 = nine heads each; a group is q0..q15, k0,
// v0. Rank 0 has q0..q8, rank 1 q9..q15 | k0 | v0, rank 2 q16..q24: Megatron replicates nothing.
TEST(MegatronLayout, MoreTensorRanksThanKeyValueHeadsCutRawRows) {
  const Model model = ReferenceModel("qwen3-235b", 1);
  const GroupLayout group = Megatron(model, R"({"tensor": 8, "expert": 8, "expertTensor": 1})", 8);
  const std::string name = "decoder.layers.0.self_attention.linear_qkv.weight";
  const std::string prefix = "model.layers.0.self_attn.";
  EXPECT_THAT(ParameterText(model, OfRank(group, 0), name, prefix),
              ElementsAre("BF16 [1152, 4096]", "[0, 0] q_proj.weight [0:1152, 0:4096]"));
  EXPECT_THAT(ParameterText(model, OfRank(group, 1), name, prefix),
              ElementsAre("BF16 [1152, 4096]",  //
                          "[0, 0] q_proj.weight [1152:2048, 0:4096]",
                          "[896, 0] k_proj.weight [0:128, 0:4096]",
                          "[1024, 0] v_proj.weight [0:128, 0:4096]"));
  EXPECT_THAT(ParameterText(model, OfRank(group, 2), name, prefix),
              ElementsAre("BF16 [1152, 4096]", "[0, 0] q_proj.weight [2048:3200, 0:4096]"));
}

// nq 64, nkv 2, T8, d 4: a group is 32 heads of q, k, v = 136 rows, 272 in all, 34 a rank: eight
// and a half heads. Rank 3 has rows 102..135 of group 0: q rows 102..127, k 0..3, v 0..3; rank 0
// ends in the middle of head 8 (rows 32..35) at row 34.
TEST(MegatronLayout, ARankBoundaryMaySplitAHead) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 16,
          "num_hidden_layers": 1, "num_attention_heads": 64, "num_key_value_heads": 2,
          "head_dim": 4, "intermediate_size": 32, "vocab_size": 64})");
  ASSERT_TRUE(model) << ToString(model.error());
  const GroupLayout group = Megatron(*model, R"({"tensor": 8})", 8);
  const std::string name = "decoder.layers.0.self_attention.linear_qkv.weight";
  const std::string prefix = "model.layers.0.self_attn.";
  EXPECT_THAT(ParameterText(*model, OfRank(group, 0), name, prefix),
              ElementsAre("BF16 [34, 16]", "[0, 0] q_proj.weight [0:34, 0:16]"));
  EXPECT_THAT(
      ParameterText(*model, OfRank(group, 3), name, prefix),
      ElementsAre("BF16 [34, 16]",  //
                  "[0, 0] q_proj.weight [102:128, 0:16]", "[26, 0] k_proj.weight [0:4, 0:16]",
                  "[30, 0] v_proj.weight [0:4, 0:16]"));
}

// Gate and up are each cut by rank and then joined, not joined and then cut.
TEST(MegatronLayout, GateAndUpAreFusedByRank) {
  const Model model = ReferenceModel("qwen3-4b");
  const GroupLayout group = Megatron(model, R"({"tensor": 4})", 8);
  EXPECT_EQ(group.layouts.size(), 4U);
  EXPECT_EQ(group.layout_of_rank[5], group.layout_of_rank[1]);
  // 9728 / 4 = 2432 rows of each.
  EXPECT_THAT(ParameterText(model, OfRank(group, 1), "decoder.layers.7.mlp.linear_fc1.weight",
                            "model.layers.7.mlp."),
              ElementsAre("BF16 [4864, 2560]",  //
                          "[0, 0] gate_proj.weight [2432:4864, 0:2560]",
                          "[2432, 0] up_proj.weight [2432:4864, 0:2560]"));
  EXPECT_THAT(ParameterText(model, OfRank(group, 3), "decoder.layers.7.mlp.linear_fc2.weight",
                            "model.layers.7.mlp."),
              ElementsAre("BF16 [2560, 2432]", "[0, 0] down_proj.weight [0:2560, 7296:9728]"));
}

// Tied: no output layer beside the embedding; a copy of it on another stage.
TEST(MegatronLayout, TiedOutputLayerIsACopyOnTheLastStage) {
  const Model model = ReferenceModel("qwen3-4b");
  const GroupLayout one = Megatron(model, "{}", 8);
  EXPECT_EQ(one.layouts.size(), 1U);
  EXPECT_THAT(ParameterNames(OfRank(one, 0)), Contains("embedding.word_embeddings.weight"));
  EXPECT_THAT(ParameterNames(OfRank(one, 0)), Not(Contains("output_layer.weight")));
  EXPECT_EQ(RegionBytes(model, OfRank(one, 0)), 8'044'936'192);

  const GroupLayout two = Megatron(model, R"({"pipeline": 2, "tensor": 2})", 8);
  EXPECT_THAT(ParameterNames(OfRank(two, 1)), Not(Contains("output_layer.weight")));
  const RankLayout& last = OfRank(two, 5);  // stage 1, tp 1
  EXPECT_THAT(ParameterNames(last), Not(Contains("embedding.word_embeddings.weight")));
  EXPECT_THAT(
      ParameterText(model, last, "output_layer.weight"),
      ElementsAre("BF16 [75968, 2560]", "[0, 0] model.embed_tokens.weight [75968:151936, 0:2560]"));
  EXPECT_THAT(ParameterNames(last), Contains("decoder.final_layernorm.weight"));
}

// make-vocab-size-divisible-by 128 at T8: 151936 -> 152576 = 8 * 19072. The real rows of the last
// rank are 151936 - 7 * 19072 = 18432.
TEST(MegatronLayout, PaddedVocabularyLeavesTheLastRanksFewerRows) {
  const Model model = ReferenceModel("qwen3-235b", 1);
  const GroupLayout group =
      Megatron(model, R"({"tensor": 8, "expertTensor": 1, "paddedVocabulary": 152576})", 8);
  EXPECT_THAT(ParameterText(model, OfRank(group, 7), "embedding.word_embeddings.weight"),
              ElementsAre("BF16 [19072, 4096]",
                          "[0, 0] model.embed_tokens.weight [133504:151936, 0:4096]"));
  EXPECT_THAT(ParameterText(model, OfRank(group, 6), "output_layer.weight"),
              ElementsAre("BF16 [19072, 4096]", "[0, 0] lm_head.weight [114432:133504, 0:4096]"));
}

TEST(MegatronLayout, PaddingMayFillWholeRanks) {
  const Result<Model> model =
      ModelOf(R"({"model.embed_tokens.weight": {"shape": [5, 2], "dtype": "F32"},
      "model.layers.0.self_attn.q_norm.weight": {"shape": [4], "dtype": "F32"}})");
  ASSERT_TRUE(model);
  const GroupLayout group = Megatron(*model, R"({"tensor": 4, "paddedVocabulary": 12})", 4);
  EXPECT_THAT(ParameterText(*model, OfRank(group, 1), "embedding.word_embeddings.weight"),
              ElementsAre("F32 [3, 2]", "[0, 0] model.embed_tokens.weight [3:5, 0:2]"));
  EXPECT_THAT(ParameterText(*model, OfRank(group, 3), "embedding.word_embeddings.weight"),
              ElementsAre("F32 [3, 2]"));
}

TEST(MegatronLayout, VocabularyThatDoesNotDivideAsksForPadding) {
  const std::string error =
      ErrorOf(ReferenceModel("qwen3-235b", 1), R"({"tensor": 7, "expertTensor": 1})", 7);
  EXPECT_THAT(error, HasSubstr("model.embed_tokens.weight: rows: 151936 is not divisible by 7"));
  EXPECT_THAT(error, HasSubstr("give paddedVocabulary"));
  EXPECT_THAT(ErrorOf(ReferenceModel("qwen3-235b", 1), R"({"paddedVocabulary": 100})", 1),
              HasSubstr("100 is below the 151936 rows of model.embed_tokens.weight"));
}

TEST(MegatronLayout, MtpLayersAreHeldOnlyWhereAsked) {
  const Model model = ReferenceModel("deepseek-v3-bf16");
  const std::string start =
      R"({"pipeline": 4, "expert": 16, "tensor": 2, "expertTensor": 1, "layersPerStage": [16, 16, 16, 13])";
  const GroupLayout without = Megatron(model, start + "}", 64);
  for (const RankLayout& layout : without.layouts) {
    for (const Parameter& parameter : layout.parameters) {
      ASSERT_FALSE(parameter.name.starts_with("mtp.")) << parameter.name;
    }
  }
  const GroupLayout with = Megatron(model, start + R"(, "mtp": true})", 64);
  const RankLayout& last = OfRank(with, 63);  // stage 3, tp 1, ep 15
  const std::string prefix = "model.layers.61.";
  // eh_proj [7168, 14336] is cut by rows, the norms are whole.
  EXPECT_THAT(ParameterText(model, last, "mtp.layers.0.eh_proj.weight", prefix),
              ElementsAre("BF16 [3584, 14336]", "[0, 0] eh_proj.weight [3584:7168, 0:14336]"));
  EXPECT_THAT(ParameterText(model, last, "mtp.layers.0.final_layernorm.weight", prefix),
              ElementsAre("BF16 [7168]", "[0] shared_head.norm.weight [0:7168]"));
  EXPECT_THAT(
      ParameterText(model, last, "mtp.layers.0.mtp_model_layer.mlp.experts.linear_fc2.weight255",
                    prefix),
      ElementsAre("BF16 [7168, 2048]", "[0, 0] mlp.experts.255.down_proj.weight [0:7168, 0:2048]"));
  // The stage of the prediction layers keeps a copy of the embedding.
  EXPECT_THAT(ParameterNames(last), Contains("embedding.word_embeddings.weight"));
  EXPECT_THAT(ParameterNames(OfRank(without, 63)),
              Not(Contains("embedding.word_embeddings.weight")));
  EXPECT_THAT(ErrorOf(ReferenceModel("qwen3-4b"), R"({"mtp": true})", 1),
              HasSubstr("the model has no layers of multi-token prediction"));
}

// expertTensor cuts gate, up and down of each expert: F 1536 over 2.
TEST(MegatronLayout, ExpertTensorCutsExperts) {
  const Model model = ReferenceModel("qwen3-235b", 1);
  const GroupLayout group = Megatron(model, R"({"tensor": 2, "expert": 2, "expertTensor": 2})", 4);
  const std::string prefix = "model.layers.0.mlp.experts.64.";
  const RankLayout& rank = OfRank(group, 3);  // x 1, ep 1
  EXPECT_EQ(ExpertsOf(rank, 0), Range(64, 128));
  EXPECT_THAT(
      ParameterText(model, rank, "decoder.layers.0.mlp.experts.linear_fc1.weight64", prefix),
      ElementsAre("BF16 [1536, 4096]",  //
                  "[0, 0] gate_proj.weight [768:1536, 0:4096]",
                  "[768, 0] up_proj.weight [768:1536, 0:4096]"));
  EXPECT_THAT(
      ParameterText(model, rank, "decoder.layers.0.mlp.experts.linear_fc2.weight64", prefix),
      ElementsAre("BF16 [4096, 768]", "[0, 0] down_proj.weight [0:4096, 768:1536]"));
}

TEST(MegatronLayout, Fp8CutsOffABlockBoundaryAreRefusedByTensor) {
  // 18432 over 32 is 576 = 4.5 blocks.
  EXPECT_THAT(ErrorOf(ReferenceModel("deepseek-v3", 4),
                      R"({"tensor": 32, "expertTensor": 1, "expert": 32})", 32),
              HasSubstr("model.layers.0.mlp.gate_proj.weight: rows 0 to 576 of 18432 cut its FP8 "
                        "blocks of 128"));
  // 2048 over 32 is 64.
  EXPECT_THAT(ErrorOf(ReferenceModel("deepseek-v3", 4), R"({"expertTensor": 32})", 32),
              HasSubstr("mlp.experts.0.gate_proj.weight: rows 0 to 64 of 2048 cut"));
}

TEST(MegatronLayout, LayersThatDoNotDivideAreRefused) {
  EXPECT_THAT(ErrorOf(ReferenceModel("deepseek-v3"), R"({"pipeline": 4})", 4),
              HasSubstr("61 layers do not divide by 4 stages; give layersPerStage"));
}

TEST(MegatronLayout, HeadsThatDoNotDivideAreRefused) {
  EXPECT_THAT(ErrorOf(ReferenceModel("qwen3-4b"), R"({"tensor": 64})", 64),
              HasSubstr("query heads: 32 is not divisible by 64"));
  EXPECT_THAT(
      ErrorOf(ReferenceModel("deepseek-v3-bf16", 4), R"({"tensor": 256, "expertTensor": 1})", 256),
      HasSubstr("query heads: 128 is not divisible by 256"));
}

// A bare list of a 32B model with 64 and 8 heads of 128, on four stages of 16 layers.
TEST(MegatronLayout, ABareListOfQwen3TellsItsHeads) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 5120,
          "num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8,
          "head_dim": 128, "intermediate_size": 25600, "vocab_size": 151936})");
  ASSERT_TRUE(model);
  const Model bare = BareList(*model);
  ASSERT_EQ(bare.tensors.size(), 707U);
  const GroupLayout group = Megatron(bare, R"({"tensor": 4, "pipeline": 4, "data": 2})", 32);
  EXPECT_EQ(group.layouts.size(), 16U);
  // Stage 2, tp 3: groups 6 and 7 of eight query heads, k, v.
  EXPECT_THAT(
      ParameterText(bare, OfRank(group, 19), "decoder.layers.40.self_attention.linear_qkv.weight",
                    "model.layers.40.self_attn."),
      ElementsAre("BF16 [2560, 5120]",  //
                  "[0, 0] q_proj.weight [6144:7168, 0:5120]",
                  "[1024, 0] k_proj.weight [768:896, 0:5120]",
                  "[1152, 0] v_proj.weight [768:896, 0:5120]",
                  "[1280, 0] q_proj.weight [7168:8192, 0:5120]",
                  "[2304, 0] k_proj.weight [896:1024, 0:5120]",
                  "[2432, 0] v_proj.weight [896:1024, 0:5120]"));
}

// One MoE layer without attention: its experts, router and norms are held, nothing else.
TEST(MegatronLayout, PartOfALayerIsHeldAsFarAsItGoes) {
  Model model = BareList(ReferenceModel("deepseek-v3", 4));
  std::erase_if(model.tensors, [](const Tensor& tensor) {
    return !tensor.name.starts_with("model.layers.3.") ||
           tensor.name.find("self_attn") != std::string::npos;
  });
  // 2 norms, router and bias, 3 shared weights and scales, 256 * 6 of the experts.
  ASSERT_EQ(model.tensors.size(), 2U + 2 + 6 + 256 * 6);
  for (Tensor& tensor : model.tensors) tensor.name.replace(0, 15, "model.layers.0.");
  const GroupLayout group = Megatron(model, R"({"pipeline": 1, "expert": 16})", 32);
  EXPECT_EQ(group.layouts.size(), 16U);
  EXPECT_EQ(ExpertsOf(OfRank(group, 17), 0), Range(16, 32));
  std::int64_t bytes = 0;
  for (const Tensor& tensor : model.tensors) bytes += TensorBytes(tensor);
  std::int64_t experts = 0;
  for (const Tensor& tensor : model.tensors) {
    if (tensor.name.find(".experts.") != std::string::npos) experts += TensorBytes(tensor);
  }
  EXPECT_EQ(RegionBytes(model, OfRank(group, 17)), bytes - experts / 16 * 15);
}

TEST(MegatronLayout, ABareListOfALlamaAsksForHeads) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 64,
          "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 96,
          "vocab_size": 100})");
  ASSERT_TRUE(model);
  Model bare = BareList(*model);
  EXPECT_THAT(ErrorOf(bare, "{}", 1), HasSubstr("give config.num_attention_heads"));
  bare.config = {"config.json", JsonValue(JsonValue::Object{{"num_attention_heads", 4}})};
  EXPECT_EQ(ErrorOf(bare, "{}", 1), "none");
}

}  // namespace
}  // namespace reshard
