#include "compiler/layout/torchtitan_layout.h"

#include <numeric>
#include <string>
#include <vector>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "layout_properties.h"

namespace reshard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

GroupLayout Titan(const Model& model, const std::string& fields, std::int64_t rank_count) {
  return Built(BuildTorchtitanLayout, model, fields, rank_count);
}

// The worked example: rank 45 of 64 is stage 1, shard 3, tensor 1; expert shard
// 1, expert 5. Of 256 experts it has 32 of 160 .. 191, of those the second
// eight.
TEST(TorchtitanLayout, Rank45OfDeepSeekV3) {
  const Model model = ReferenceModel("deepseek-v3-bf16", 6);
  const GroupLayout group = Titan(model, R"({"pipeline": 2, "tensor": 4, "expert": 8})", 64);
  const RankLayout& rank = OfRank(group, 45);
  // Six layers weigh eight: 3 on either stage.
  EXPECT_THAT(ParameterNames(rank), Contains("layers.3.attention_norm.weight"));
  EXPECT_THAT(ParameterNames(rank), Not(Contains("layers.2.attention_norm.weight")));
  const std::string name = "layers.5.";
  const std::vector<std::string> experts = ParameterText(
      model, rank, name + "moe.routed_experts.inner_experts.w1_EFD", "model.layers.5.mlp.experts.");
  ASSERT_EQ(experts.size(), 9U);
  EXPECT_EQ(experts[0], "BF16 [8, 2048, 7168]");
  EXPECT_EQ(experts[1], "[0, 0, 0] 168.gate_proj.weight [0:2048, 0:7168]");
  EXPECT_EQ(experts[8], "[7, 0, 0] 175.gate_proj.weight [0:2048, 0:7168]");
  EXPECT_EQ(ParameterText(model, rank, name + "moe.routed_experts.inner_experts.w2_EDF",
                          "model.layers.5.mlp.experts.")[0],
            "BF16 [8, 7168, 2048]");
  // 24576 rows of q_b: the second of four shares, of that the fourth of eight:
  // 6144 + 3 * 768.
  EXPECT_THAT(
      ParameterText(model, rank, name + "attention.wq_b.weight", "model.layers.5."),
      ElementsAre("BF16 [768, 1536]", "[0, 0] self_attn.q_b_proj.weight [8448:9216, 0:1536]"));
  // 7168 rows over eight, 16384 columns over four.
  EXPECT_THAT(
      ParameterText(model, rank, name + "attention.wo.weight", "model.layers.5."),
      ElementsAre("BF16 [896, 4096]", "[0, 0] self_attn.o_proj.weight [2688:3584, 4096:8192]"));
  // Whole over tensor: 576 rows over eight.
  EXPECT_THAT(ParameterText(model, rank, name + "attention.wkv_a.weight", "model.layers.5."),
              ElementsAre("BF16 [72, 7168]",
                          "[0, 0] self_attn.kv_a_proj_with_mqa.weight [216:288, 0:7168]"));
  // A buffer.
  EXPECT_THAT(ParameterText(model, rank, name + "moe.expert_bias_E", "model.layers.5."),
              ElementsAre("F32 [256]", "[0] mlp.gate.e_score_correction_bias [0:256]"));
  EXPECT_THAT(
      ParameterText(model, rank, name + "moe.shared_experts.w3.weight", "model.layers.5."),
      ElementsAre("BF16 [64, 7168]", "[0, 0] mlp.shared_experts.up_proj.weight [704:768, 0:7168]"));
}

// Of 8 experts over 16 ranks: FSDP cuts dim 1. Rank 13 at expert 4 is expert
// rank 1, shard 3 of 4: experts 2 and 3, a quarter of the rows of each.
TEST(TorchtitanLayout, FewExpertsAreCutAlongDim1) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "qwen3_moe", "torch_dtype": "bfloat16", "hidden_size": 8,
          "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 2, "vocab_size": 16, "num_experts": 8, "moe_intermediate_size": 8,
          "intermediate_size": 8})");
  ASSERT_TRUE(model) << ToString(model.error());
  const GroupLayout group = Titan(*model, R"({"expert": 4})", 16);
  const std::string name = "layers.0.moe.routed_experts.inner_experts.";
  EXPECT_THAT(
      ParameterText(*model, OfRank(group, 13), name + "w3_EFD", "model.layers.0.mlp.experts."),
      ElementsAre("BF16 [2, 2, 8]", "[0, 0, 0] 2.up_proj.weight [6:8, 0:8]",
                  "[1, 0, 0] 3.up_proj.weight [6:8, 0:8]"));
  EXPECT_THAT(
      ParameterText(*model, OfRank(group, 13), name + "w2_EDF", "model.layers.0.mlp.experts."),
      ElementsAre("BF16 [2, 2, 8]", "[0, 0, 0] 2.down_proj.weight [6:8, 0:8]",
                  "[1, 0, 0] 3.down_proj.weight [6:8, 0:8]"));
  // As many ranks as experts: dim 0.
  const GroupLayout eight = Titan(*model, R"({"expert": 4})", 8);
  EXPECT_THAT(
      ParameterText(*model, OfRank(eight, 5), name + "w3_EFD", "model.layers.0.mlp.experts."),
      ElementsAre("BF16 [1, 8, 8]", "[0, 0, 0] 3.up_proj.weight [0:8, 0:8]"));
  // Without expert ranks the replicas of FSDP count, too: 2 * 8 over 8 experts.
  const GroupLayout replicas = Titan(*model, R"({"replicate": 2})", 16);
  EXPECT_EQ(
      ParameterText(*model, OfRank(replicas, 1), name + "w3_EFD", "model.layers.0.mlp.experts.")[1],
      "[0, 0, 0] 0.up_proj.weight [1:2, 0:8]");
  const Result<GroupLayout> uneven = Build(BuildTorchtitanLayout, *model, R"({"expert": 2})", 24);
  ASSERT_FALSE(uneven);
  EXPECT_THAT(ToString(uneven.error()), HasSubstr("FSDP cuts its dim 1 of 8 over 12 ranks"));
}

const std::string kSmallLlama =
    R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 2,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
        "intermediate_size": 4, "vocab_size": 5})";

// The rows of `tensor` that a parameter of two columns holds, from its regions.
std::vector<std::string> RowsOf(const Model& model, const RankLayout& layout,
                                const std::string& name) {
  std::vector<std::string> rows;
  for (std::size_t p = 0; p < layout.parameters.size(); ++p) {
    if (layout.parameters[p].name != name) continue;
    rows.assign(static_cast<std::size_t>(layout.parameters[p].shape[0]), "-");
    for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
      const Region region = layout.regions[r];
      if (region.parameter != static_cast<ParameterIndex>(p)) continue;
      const std::string& tensor = model.tensors[static_cast<std::size_t>(region.tensor)].name;
      for (std::int64_t i = 0; i < region.extent[0]; ++i) {
        const std::int64_t at = (region.offset + i * region.stride[0]) / 2;
        rows[static_cast<std::size_t>(at)] =
            tensor.substr(tensor.rfind("attn.") + 5, 1) + std::to_string(region.begin[0] + i);
      }
    }
  }
  return rows;
}

// llama's heads of six rows: row 2j + b is row 3b + j of the head, for q and k
// and not for v. FSDP cuts the permuted rows.
TEST(TorchtitanLayout, LlamaPairsRotaryRows) {
  const Result<Model> model = ModelOf(kSmallLlama);
  ASSERT_TRUE(model) << ToString(model.error());
  const GroupLayout one = Titan(*model, "{}", 1);
  const std::string name = "layers.1.attention.qkv_linear.";
  EXPECT_THAT(RowsOf(*model, OfRank(one, 0), name + "wk.weight"),
              ElementsAre("k0", "k3", "k1", "k4", "k2", "k5",  //
                          "k6", "k9", "k7", "k10", "k8", "k11"));
  EXPECT_THAT(
      RowsOf(*model, OfRank(one, 0), name + "wv.weight"),
      ElementsAre("v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11"));
  const GroupLayout cut = Titan(*model, R"({"tensor": 2})", 10);
  // Tensor rank 1 has the second head; FSDP over five: 2 rows each, 3 ranks.
  EXPECT_THAT(RowsOf(*model, OfRank(cut, 3), name + "wk.weight"), ElementsAre("k7", "k10"));
  EXPECT_THAT(RowsOf(*model, OfRank(cut, 9), name + "wk.weight"), ElementsAre());
  // Other families keep Hugging Face's order.
  const Model qwen = ReferenceModel("qwen3-4b", 1);
  EXPECT_EQ(ParameterText(qwen, OfRank(Titan(qwen, "{}", 1), 0),
                          "layers.0.attention.qkv_linear.wq.weight")
                .size(),
            2U);
}

// Fused: of each key-value head's group its two query heads, its key, its
// value.
TEST(TorchtitanLayout, FusedQkv) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 2,
          "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 2, "intermediate_size": 4, "vocab_size": 5})");
  ASSERT_TRUE(model) << ToString(model.error());
  const GroupLayout group = Titan(*model, R"({"tensor": 2, "fusedQkv": true})", 4);
  const std::string name = "layers.0.attention.qkv_linear.wqkv.weight";
  // Tensor rank 1: q4 .. q7, k2, k3, v2, v3; of these FSDP rank 1 has the last
  // four.
  EXPECT_THAT(RowsOf(*model, OfRank(group, 1), name), ElementsAre("q4", "q5", "q6", "q7"));
  EXPECT_THAT(RowsOf(*model, OfRank(group, 3), name), ElementsAre("k2", "k3", "v2", "v3"));
  EXPECT_THAT(ParameterNames(OfRank(group, 0)),
              Not(Contains("layers.0.attention.qkv_linear.wq.weight")));
}

TEST(TorchtitanLayout, WhatTorchtitanLacksIsRefusedByName) {
  const auto error_of = [](const std::string& config, const std::string& fields,
                           std::int64_t ranks) {
    const Result<Model> model = ModelOf(config);
    EXPECT_TRUE(model) << ToString(model.error());
    const Result<GroupLayout> group = Build(BuildTorchtitanLayout, *model, fields, ranks);
    return group ? "none" : ToString(group.error());
  };
  std::string biased = kSmallLlama;
  biased.replace(biased.find("\"vocab_size\""), 0, "\"attention_bias\": true, ");
  EXPECT_THAT(error_of(biased, "{}", 1),
              HasSubstr("self_attn.q_proj.bias: torchtitan has no parameter for it"));
  EXPECT_THAT(error_of(kSmallLlama, R"({"tensor": 4})", 4),
              HasSubstr("key-value heads: 2 is not divisible by 4"));
  const Model fp8 = ReferenceModel("deepseek-v3", 4);
  const Result<GroupLayout> group = Build(BuildTorchtitanLayout, fp8, "{}", 1);
  ASSERT_FALSE(group);
  EXPECT_THAT(ToString(group.error()),
              HasSubstr("weight_scale_inv: torchtitan has no parameter for it"));
}

// A tied head on the last stage is a copy of the embedding; on one stage there
// is none.
TEST(TorchtitanLayout, TiedHead) {
  const Model model = ReferenceModel("qwen3-4b", 2);
  EXPECT_THAT(ParameterNames(OfRank(Titan(model, "{}", 1), 0)), Not(Contains("lm_head.weight")));
  EXPECT_EQ(
      ParameterText(model, OfRank(Titan(model, R"({"pipeline": 2})", 2), 1), "lm_head.weight")[1],
      "[0, 0] model.embed_tokens.weight [0:151936, 0:2560]");
}

// Over all ranks every element but multi-token prediction's is held.
TEST(TorchtitanLayout, GroupsAreComplete) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "deepseek_v3", "torch_dtype": "bfloat16", "hidden_size": 12,
          "num_hidden_layers": 3, "num_nextn_predict_layers": 1, "num_attention_heads": 4,
          "q_lora_rank": 5, "kv_lora_rank": 4, "qk_nope_head_dim": 3, "qk_rope_head_dim": 2,
          "v_head_dim": 3, "intermediate_size": 9, "vocab_size": 11, "first_k_dense_replace": 1,
          "n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 12})");
  ASSERT_TRUE(model) << ToString(model.error());
  for (const char* fields :
       {R"({})", R"({"tensor": 2, "expert": 2})", R"({"pipeline": 3, "context": 2, "tensor": 2})",
        R"({"replicate": 3, "expert": 2})", R"({"pipeline": 3, "expert": 4})"}) {
    SCOPED_TRACE(fields);
    constexpr std::int64_t kRanks = 12;
    const GroupLayout group = Titan(*model, fields, kRanks);
    std::vector<std::int64_t> ranks(kRanks);
    std::iota(ranks.begin(), ranks.end(), 0);
    ExpectComplete(*model, group, ranks,
                   [](const std::string& name) { return name.starts_with("model.layers.3."); });
  }
}

}  // namespace
}  // namespace reshard
