// What a Megatron rank holds of the kinds of layers that only some families have.
#include <algorithm>
#include <string>
#include <vector>

#include "compiler/layout/megatron_layer.h"
#include "compiler/layout/megatron_layout.h"
#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The parameters of all of a rank's layers, in the degrees and at the rank that `fields` says.
class Rank {
 public:
  Rank(const std::string& json, const std::string& fields, std::int64_t ranks, std::int64_t rank) {
    Result<Model> model = ModelOf(json);
    if (!model) {
      error_ = ToString(model.error());
      return;
    }
    model_ = *std::move(model);
    const Result<GroupLayout> group = Build(BuildMegatronLayout, model_, fields, ranks);
    if (!group) {
      error_ = ToString(group.error());
      return;
    }
    layout_ = OfRank(*group, rank);
  }

  const std::string& error() const { return error_; }
  std::vector<std::string> names() const { return ParameterNames(layout_); }
  std::vector<std::string> Text(const std::string& parameter, const std::string& prefix) const {
    return ParameterText(model_, layout_, parameter, prefix);
  }
  std::vector<std::int64_t> Elements(const std::string& parameter) const {
    return ElementsOf(model_, layout_, parameter);
  }

 private:
  Model model_;
  RankLayout layout_;
  std::string error_ = "none";
};

// 2 query heads of 2 rows with gates, one key-value head, over 4 ranks: 2 * 2 * 2 + 2 + 2 = 12 raw
// rows, q0 q1 | g0 g1 | k | v; but two query heads do not divide by 4.
const std::string kNext =
    R"({"model_type": "qwen3_next", "torch_dtype": "bfloat16", "hidden_size": 8,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 3,
        "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2,
        "linear_num_value_heads": 4, "linear_key_head_dim": 3, "linear_value_head_dim": 5,
        "linear_conv_kernel_dim": 4, "num_experts": 2, "moe_intermediate_size": 4,
        "shared_expert_intermediate_size": 6, "intermediate_size": 6, "vocab_size": 4})";

// 4 query heads of 3 rows, then their 4 gates, k and v: 30 rows, 15 a rank. Rank 0 has the queries,
// rows 0:3, 6:9, 12:15 and 18:21 of q_proj, and of the first gate rows 3:6; rank 1 the other gates,
// k and v. There are more ranks than key-value heads.
TEST(MegatronFamilies, GatedAttentionIsCutByRawRows) {
  const std::string qkv = "decoder.layers.1.self_attention.linear_qkv.weight";
  const std::string prefix = "model.layers.1.self_attn.";
  const Rank first(kNext, R"({"tensor": 2})", 2, 0);
  ASSERT_EQ(first.error(), "none");
  EXPECT_THAT(first.Text(qkv, prefix),
              ElementsAre("BF16 [15, 8]", "[0, 0] q_proj.weight [0:3, 0:8]",
                          "[3, 0] q_proj.weight [6:9, 0:8]", "[6, 0] q_proj.weight [12:15, 0:8]",
                          "[9, 0] q_proj.weight [18:21, 0:8]", "[12, 0] q_proj.weight [3:6, 0:8]"));
  const Rank second(kNext, R"({"tensor": 2})", 2, 1);
  EXPECT_THAT(second.Text(qkv, prefix),
              ElementsAre("BF16 [15, 8]", "[0, 0] q_proj.weight [9:12, 0:8]",
                          "[3, 0] q_proj.weight [15:18, 0:8]", "[6, 0] q_proj.weight [21:24, 0:8]",
                          "[9, 0] k_proj.weight [0:3, 0:8]", "[12, 0] v_proj.weight [0:3, 0:8]"));
}

TEST(MegatronFamilies, EveryParameterOfADeltaNetLayer) {
  const Rank rank(kNext, R"({"tensor": 2})", 2, 1);
  std::vector<std::string> names = rank.names();
  std::erase_if(names, [](const std::string& name) {
    return !name.starts_with("decoder.layers.0.") || name.find("mlp.experts.") != name.npos;
  });
  // All but out_norm, which holds x - 1.
  EXPECT_THAT(names, ElementsAre("decoder.layers.0.mlp.router.weight",
                                 "decoder.layers.0.mlp.shared_experts.gate_weight",
                                 "decoder.layers.0.mlp.shared_experts.linear_fc1.weight",
                                 "decoder.layers.0.mlp.shared_experts.linear_fc2.weight",
                                 "decoder.layers.0.pre_mlp_layernorm.weight",
                                 "decoder.layers.0.self_attention.A_log",
                                 "decoder.layers.0.self_attention.conv1d.weight",
                                 "decoder.layers.0.self_attention.dt_bias",
                                 "decoder.layers.0.self_attention.in_proj.layer_norm_weight",
                                 "decoder.layers.0.self_attention.in_proj.weight",
                                 "decoder.layers.0.self_attention.out_proj.weight"));
  const std::string module = "decoder.layers.0.self_attention.";
  const std::string prefix = "model.layers.0.linear_attn.";
  // Key head 1 of 2: rows 26:52 of q 3 | k 3 | v 10 | z 10, and 4:8 of b 2 | a 2.
  EXPECT_THAT(
      rank.Text(module + "in_proj.weight", prefix),
      ElementsAre("BF16 [30, 8]", "[0, 0] in_proj_qkvz.weight [26:29, 0:8]",
                  "[3, 0] in_proj_qkvz.weight [29:32, 0:8]",
                  "[6, 0] in_proj_qkvz.weight [32:42, 0:8]",
                  "[16, 0] in_proj_qkvz.weight [42:52, 0:8]",
                  "[26, 0] in_proj_ba.weight [4:6, 0:8]", "[28, 0] in_proj_ba.weight [6:8, 0:8]"));
  // q 6 | k 6 | v 20.
  EXPECT_THAT(rank.Text(module + "conv1d.weight", prefix),
              ElementsAre("BF16 [16, 1, 4]", "[0, 0, 0] conv1d.weight [3:6, 0:1, 0:4]",
                          "[3, 0, 0] conv1d.weight [9:12, 0:1, 0:4]",
                          "[6, 0, 0] conv1d.weight [22:32, 0:1, 0:4]"));
  EXPECT_THAT(rank.Text(module + "A_log", prefix), ElementsAre("BF16 [2]", "[0] A_log [2:4]"));
  EXPECT_THAT(rank.Text(module + "out_proj.weight", prefix),
              ElementsAre("BF16 [8, 10]", "[0, 0] out_proj.weight [0:8, 10:20]"));
  EXPECT_THAT(Rank(kNext, R"({"tensor": 4})", 4, 0).error(),
              HasSubstr("in_proj_qkvz.weight: key heads: 2 is not divisible by 4"));
}

// Four layers of one mixer each.
const std::string kHybrid =
    R"({"model_type": "nemotron_h", "torch_dtype": "bfloat16", "hidden_size": 8,
        "num_hidden_layers": 4, "hybrid_override_pattern": "M-*E", "mamba_num_heads": 4,
        "mamba_head_dim": 3, "n_groups": 2, "ssm_state_size": 5, "conv_kernel": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2, "intermediate_size": 6,
        "n_routed_experts": 2, "moe_intermediate_size": 4, "moe_latent_size": 6,
        "moe_shared_expert_intermediate_size": 10, "vocab_size": 4,
        "tie_word_embeddings": false})";

TEST(MegatronFamilies, EveryParameterOfAHybridModel) {
  const Rank rank(kHybrid, R"({"tensor": 2, "expertTensor": 1, "expert": 2})", 2, 1);
  ASSERT_EQ(rank.error(), "none");
  EXPECT_THAT(
      rank.names(),
      ElementsAre(
          "decoder.final_norm.weight", "decoder.layers.0.mixer.A_log", "decoder.layers.0.mixer.D",
          "decoder.layers.0.mixer.conv1d_bias", "decoder.layers.0.mixer.conv1d_weight",
          "decoder.layers.0.mixer.dt_bias", "decoder.layers.0.mixer.in_proj.layer_norm_weight",
          "decoder.layers.0.mixer.in_proj.weight", "decoder.layers.0.mixer.norm.weight",
          "decoder.layers.0.mixer.out_proj.weight",
          "decoder.layers.1.mlp.linear_fc1.layer_norm_weight",
          "decoder.layers.1.mlp.linear_fc1.weight", "decoder.layers.1.mlp.linear_fc2.weight",
          "decoder.layers.2.self_attention.linear_proj.weight",
          "decoder.layers.2.self_attention.linear_qkv.layer_norm_weight",
          "decoder.layers.2.self_attention.linear_qkv.weight",
          "decoder.layers.3.mlp.experts.linear_fc1.weight1",
          "decoder.layers.3.mlp.experts.linear_fc2.weight1",
          "decoder.layers.3.mlp.fc1_latent_proj.weight",
          "decoder.layers.3.mlp.fc2_latent_proj.weight", "decoder.layers.3.mlp.router.expert_bias",
          "decoder.layers.3.mlp.router.weight",
          "decoder.layers.3.mlp.shared_experts.linear_fc1.weight",
          "decoder.layers.3.mlp.shared_experts.linear_fc2.weight",
          "decoder.layers.3.pre_mlp_layernorm.weight", "embedding.word_embeddings.weight",
          "output_layer.weight"));
  const std::string prefix = "backbone.layers.0.mixer.";
  // z 12 | x 12 | B 10 | C 10 | dt 4, half 1 of each.
  EXPECT_THAT(
      rank.Text("decoder.layers.0.mixer.in_proj.weight", prefix),
      ElementsAre("BF16 [24, 8]", "[0, 0] in_proj.weight [6:12, 0:8]",
                  "[6, 0] in_proj.weight [18:24, 0:8]", "[12, 0] in_proj.weight [29:34, 0:8]",
                  "[17, 0] in_proj.weight [39:44, 0:8]", "[22, 0] in_proj.weight [46:48, 0:8]"));
  EXPECT_THAT(rank.Text("decoder.layers.0.mixer.conv1d_bias", prefix),
              ElementsAre("BF16 [16]", "[0] conv1d.bias [6:12]", "[6] conv1d.bias [17:22]",
                          "[11] conv1d.bias [27:32]"));
  EXPECT_THAT(rank.Text("decoder.layers.0.mixer.norm.weight", prefix),
              ElementsAre("BF16 [6]", "[0] norm.weight [6:12]"));
  // Not gated: one matrix, cut by rows. The experts work at the latent width.
  EXPECT_THAT(rank.Text("decoder.layers.1.mlp.linear_fc1.weight", "backbone.layers.1.mixer."),
              ElementsAre("BF16 [3, 8]", "[0, 0] up_proj.weight [3:6, 0:8]"));
  EXPECT_THAT(
      rank.Text("decoder.layers.3.mlp.experts.linear_fc1.weight1", "backbone.layers.3.mixer."),
      ElementsAre("BF16 [4, 6]", "[0, 0] experts.1.up_proj.weight [0:4, 0:6]"));
  EXPECT_THAT(rank.Text("decoder.layers.3.mlp.fc1_latent_proj.weight", "backbone.layers.3.mixer."),
              ElementsAre("BF16 [6, 8]", "[0, 0] fc1_latent_proj.weight [0:6, 0:8]"));
}

const std::string kOss =
    R"({"model_type": "gpt_oss", "torch_dtype": "bfloat16", "hidden_size": 3,
        "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2,
        "intermediate_size": 2, "num_local_experts": 2, "vocab_size": 4, "attention_bias": true})";

// Expert 1 of [2, 3, 4], columns g0 u0 g1 u1: element (h, c) is 12 + 4 h + c. Rows g0 g1 u0 u1.
TEST(MegatronFamilies, InterleavedExpertsComeApart) {
  const Rank rank(kOss, R"({"tensor": 2, "expert": 2, "expertTensor": 1})", 2, 1);
  ASSERT_EQ(rank.error(), "none");
  const std::string experts = "decoder.layers.0.mlp.experts.";
  EXPECT_THAT(rank.Elements(experts + "linear_fc1.weight1"),
              ElementsAre(12, 16, 20, 14, 18, 22, 13, 17, 21, 15, 19, 23));
  EXPECT_THAT(rank.Elements(experts + "linear_fc1.bias1"), ElementsAre(4, 6, 5, 7));
  // Down [2, 2, 3]: element (f, h) of expert 1 is 6 + 3 f + h.
  EXPECT_THAT(rank.Elements(experts + "linear_fc2.weight1"), ElementsAre(6, 9, 7, 10, 8, 11));
  EXPECT_THAT(rank.Elements(experts + "linear_fc2.bias1"), ElementsAre(3, 4, 5));
  EXPECT_THAT(rank.Text("decoder.layers.0.self_attention.core_attention.softmax_offset",
                        "model.layers.0.self_attn."),
              ElementsAre("BF16 [2]", "[0] sinks [2:4]"));
  EXPECT_THAT(rank.Text("decoder.layers.0.mlp.router.bias", "model.layers.0.mlp."),
              ElementsAre("BF16 [2]", "[0] router.bias [0:2]"));
  EXPECT_THAT(rank.names(), Contains("decoder.layers.0.pre_mlp_layernorm.weight"));
  EXPECT_THAT(Rank(kOss, R"({"tensor": 2})", 2, 0).error(),
              HasSubstr("mlp.experts.down_proj_bias: Megatron does not cut experts with biases"));
}

// Halves of [2, 3, 4] by input: gate columns 0 and 1, up columns 2 and 3; one of each a rank.
TEST(MegatronFamilies, FusedExpertsAreTurnedAndCut) {
  const Rank rank(
      R"({"model_type": "llama4_text", "torch_dtype": "bfloat16", "hidden_size": 3,
          "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2,
          "head_dim": 2, "intermediate_size": 2, "intermediate_size_mlp": 4,
          "num_local_experts": 2, "interleave_moe_layer_step": 1, "vocab_size": 4})",
      R"({"tensor": 2})", 2, 1);
  ASSERT_EQ(rank.error(), "none");
  EXPECT_THAT(rank.Elements("decoder.layers.0.mlp.experts.linear_fc1.weight1"),
              ElementsAre(13, 17, 21, 15, 19, 23));
  EXPECT_THAT(rank.Elements("decoder.layers.0.mlp.experts.linear_fc2.weight1"),
              ElementsAre(9, 10, 11));
  // Query and key rows lie as in the checkpoint.
  EXPECT_THAT(
      rank.Text("decoder.layers.0.self_attention.linear_qkv.weight", "model.layers.0.self_attn."),
      ElementsAre("BF16 [6, 3]", "[0, 0] q_proj.weight [2:4, 0:3]",
                  "[2, 0] k_proj.weight [2:4, 0:3]", "[4, 0] v_proj.weight [2:4, 0:3]"));
  EXPECT_THAT(rank.Text("decoder.layers.0.mlp.shared_experts.linear_fc1.weight",
                        "model.layers.0.feed_forward.shared_expert."),
              ElementsAre("BF16 [2, 3]", "[0, 0] gate_proj.weight [1:2, 0:3]",
                          "[1, 0] up_proj.weight [1:2, 0:3]"));
}

// The four norms of a layer, and the model inside a larger one.
TEST(MegatronFamilies, SandwichNormsOfAModelInsideAnother) {
  const Rank rank(
      R"({"model_type": "gemma3", "torch_dtype": "bfloat16", "text_config": {
          "model_type": "gemma3_text", "hidden_size": 4, "num_hidden_layers": 1,
          "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 2,
          "intermediate_size": 6, "vocab_size": 4}})",
      "{}", 1, 0);
  ASSERT_EQ(rank.error(), "none");
  const std::string layer = "language_model.decoder.layers.0.";
  EXPECT_THAT(
      rank.names(),
      ElementsAre("language_model.decoder.final_layernorm.weight",
                  layer + "mlp.linear_fc1.layer_norm_weight", layer + "mlp.linear_fc1.weight",
                  layer + "mlp.linear_fc2.post_layernorm.weight", layer + "mlp.linear_fc2.weight",
                  layer + "self_attention.k_layernorm.weight",
                  layer + "self_attention.linear_proj.post_layernorm.weight",
                  layer + "self_attention.linear_proj.weight",
                  layer + "self_attention.linear_qkv.layer_norm_weight",
                  layer + "self_attention.linear_qkv.weight",
                  layer + "self_attention.q_layernorm.weight",
                  "language_model.embedding.word_embeddings.weight"));
  EXPECT_THAT(
      rank.Text(layer + "mlp.linear_fc1.layer_norm_weight", "language_model.model.layers.0."),
      ElementsAre("BF16 [4]", "[0] pre_feedforward_layernorm.weight [0:4]"));
  EXPECT_THAT(rank.Text(layer + "self_attention.linear_proj.post_layernorm.weight",
                        "language_model.model.layers.0."),
              ElementsAre("BF16 [4]", "[0] post_attention_layernorm.weight [0:4]"));
}

// Prediction layers with names of their own: number 0 stands behind the 2 main layers.
TEST(MegatronFamilies, PredictionLayersNumberedApart) {
  std::string json = kNext;
  json.insert(1, R"("num_nextn_predict_layers": 1, )");
  const Rank without(json, "{}", 1, 0);
  ASSERT_EQ(without.error(), "none");
  std::vector<std::string> names = without.names();
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("mtp."); });
  EXPECT_THAT(names, IsEmpty());
  const Rank rank(json, R"({"mtp": true})", 1, 0);
  ASSERT_EQ(rank.error(), "none");
  EXPECT_THAT(rank.Text("mtp.layers.0.eh_proj.weight", "mtp."),
              ElementsAre("BF16 [8, 16]", "[0, 0] fc.weight [0:8, 0:16]"));
  EXPECT_THAT(
      rank.Text("mtp.layers.0.mtp_model_layer.self_attention.linear_proj.weight", "mtp.layers.0."),
      ElementsAre("BF16 [8, 12]", "[0, 0] self_attn.o_proj.weight [0:8, 0:12]"));
  EXPECT_THAT(
      rank.Text("mtp.layers.0.mtp_model_layer.mlp.experts.linear_fc2.weight1", "mtp.layers.0.mlp."),
      ElementsAre("BF16 [8, 4]", "[0, 0] experts.1.down_proj.weight [0:8, 0:4]"));
}

}  // namespace
}  // namespace reshard
