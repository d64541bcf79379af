// What a vLLM rank holds of the kinds of layers that only some families have.
#include <algorithm>
#include <string>
#include <vector>

#include "compiler/layout/sglang_layout.h"
#include "compiler/layout/vllm_layout.h"
#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Rank {
 public:
  Rank(const std::string& json, const std::string& fields, std::int64_t ranks, std::int64_t rank,
       LayoutBuilder build = BuildVllmLayout) {
    Result<Model> model = ModelOf(json);
    if (!model) {
      error_ = ToString(model.error());
      return;
    }
    model_ = *std::move(model);
    const Result<GroupLayout> group = Build(build, model_, fields, ranks);
    if (!group) {
      error_ = ToString(group.error());
      return;
    }
    layout_ = OfRank(*group, rank);
  }

  const std::string& error() const { return error_; }
  std::vector<std::string> names(const std::string& prefix) const {
    std::vector<std::string> names = ParameterNames(layout_);
    std::erase_if(names, [&](const std::string& name) { return !name.starts_with(prefix); });
    for (std::string& name : names) name.erase(0, prefix.size());
    return names;
  }
  std::vector<std::string> Text(const std::string& parameter, const std::string& prefix) const {
    return ParameterText(model_, layout_, parameter, prefix);
  }
  std::vector<std::int64_t> Elements(const std::string& parameter) const {
    return ElementsOf(model_, layout_, parameter);
  }
  // The elements that declared zeros fill.
  std::int64_t ZeroElements() const {
    std::int64_t elements = 0;
    for (std::int64_t z = 0; z < layout_.zeros.size(); ++z) {
      std::int64_t box = 1;
      for (const std::int64_t extent : layout_.zeros[z].extent) box *= extent;
      elements += box;
    }
    return elements;
  }

 private:
  Model model_;
  RankLayout layout_;
  std::string error_ = "none";
};

const std::string kDelta =
    R"({"torch_dtype": "bfloat16", "hidden_size": 8, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 3,
        "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2,
        "linear_num_value_heads": 4, "linear_key_head_dim": 3, "linear_value_head_dim": 5,
        "linear_conv_kernel_dim": 4, "num_experts": 2, "moe_intermediate_size": 4,
        "shared_expert_intermediate_size": 6, "intermediate_size": 6, "vocab_size": 64, )";
const std::string kNext = kDelta + R"("model_type": "qwen3_next"})";

// Heads of 2 * 3 rows, query and gate; one key-value head, held by both ranks.
TEST(VllmFamilies, GatesStayWithTheirHeads) {
  const Rank rank(kNext, R"({"tensor": 2})", 2, 1);
  ASSERT_EQ(rank.error(), "none");
  EXPECT_THAT(rank.Text("model.layers.1.self_attn.qkv_proj.weight", "model.layers.1.self_attn."),
              ElementsAre("BF16 [18, 8]", "[0, 0] q_proj.weight [12:24, 0:8]",
                          "[12, 0] k_proj.weight [0:3, 0:8]", "[15, 0] v_proj.weight [0:3, 0:8]"));
}

TEST(VllmFamilies, JoinedDeltaProjectionsKeepTheirOrder) {
  const Rank rank(kNext, R"({"tensor": 2})", 2, 1);
  EXPECT_THAT(rank.names("model.layers.0.linear_attn."),
              ElementsAre("A_log", "conv1d.weight", "dt_bias", "in_proj_ba.weight",
                          "in_proj_qkvz.weight", "norm.weight", "out_proj.weight"));
  const std::string prefix = "model.layers.0.linear_attn.";
  // 26 rows a key head, 4 of b and a.
  EXPECT_THAT(rank.Text(prefix + "in_proj_qkvz.weight", prefix),
              ElementsAre("BF16 [26, 8]", "[0, 0] in_proj_qkvz.weight [26:52, 0:8]"));
  EXPECT_THAT(rank.Text(prefix + "in_proj_ba.weight", prefix),
              ElementsAre("BF16 [4, 8]", "[0, 0] in_proj_ba.weight [4:8, 0:8]"));
  EXPECT_THAT(rank.Text(prefix + "conv1d.weight", prefix),
              ElementsAre("BF16 [16, 1, 4]", "[0, 0, 0] conv1d.weight [3:6, 0:1, 0:4]",
                          "[3, 0, 0] conv1d.weight [9:12, 0:1, 0:4]",
                          "[6, 0, 0] conv1d.weight [22:32, 0:1, 0:4]"));
  EXPECT_THAT(rank.Text(prefix + "norm.weight", prefix),
              ElementsAre("BF16 [5]", "[0] norm.weight [0:5]"));
  EXPECT_THAT(Rank(kNext, R"({"tensor": 4})", 4, 0).error(),
              HasSubstr("in_proj_qkvz.weight: key heads: 2 is not divisible by 4"));
}

// Apart: qkv = q 6 | k 6 | v 20, z 20, b 4, a 4; the rank's halves joined.
TEST(VllmFamilies, DeltaProjectionsApartAreJoined) {
  const Rank rank(kDelta + R"("model_type": "qwen3_5_text"})", R"({"tensor": 2})", 2, 1);
  ASSERT_EQ(rank.error(), "none");
  const std::string prefix = "model.layers.0.linear_attn.";
  EXPECT_THAT(
      rank.Text(prefix + "in_proj_qkvz.weight", prefix),
      ElementsAre("BF16 [26, 8]", "[0, 0] in_proj_qkv.weight [3:6, 0:8]",
                  "[3, 0] in_proj_qkv.weight [9:12, 0:8]", "[6, 0] in_proj_qkv.weight [22:32, 0:8]",
                  "[16, 0] in_proj_z.weight [10:20, 0:8]"));
  EXPECT_THAT(rank.Text(prefix + "in_proj_ba.weight", prefix),
              ElementsAre("BF16 [4, 8]", "[0, 0] in_proj_b.weight [2:4, 0:8]",
                          "[2, 0] in_proj_a.weight [2:4, 0:8]"));
}

// Experts in one tensor, [2, 8, 8] gate rows first, [2, 8, 4], as checkpoints of the model inside a
// larger one have them; vLLM's names begin with language_model.
TEST(VllmFamilies, TheModelInsideALargerOne) {
  const std::string json =
      R"({"family": "qwen3_5_moe", "tensors": {
            "lm_head.weight": {"shape": [64, 8], "dtype": "BF16"},
            "model.language_model.embed_tokens.weight": {"shape": [64, 8], "dtype": "BF16"},
            "model.language_model.layers.1.mlp.experts.gate_up_proj":
                {"shape": [2, 8, 8], "dtype": "BF16"},
            "model.language_model.layers.1.mlp.experts.down_proj":
                {"shape": [2, 8, 4], "dtype": "BF16"}},
          "config": {"model_type": "qwen3_5_moe", "text_config": )" +
      kDelta + R"("model_type": "qwen3_5_moe_text"}}})";
  const Rank rank(json, R"({"tensor": 2})", 2, 1);
  ASSERT_EQ(rank.error(), "none");
  const std::string experts = "language_model.model.layers.1.mlp.experts.routed_experts.";
  const std::string prefix = "model.language_model.layers.1.mlp.experts.";
  // Rows 2:4 of gate and of up, of each expert; columns 2:4 of down.
  EXPECT_THAT(rank.Text(experts + "w13_weight", prefix),
              ElementsAre("BF16 [2, 4, 8]", "[0, 0, 0] gate_up_proj [0:1, 2:4, 0:8]",
                          "[0, 2, 0] gate_up_proj [0:1, 6:8, 0:8]",
                          "[1, 0, 0] gate_up_proj [1:2, 2:4, 0:8]",
                          "[1, 2, 0] gate_up_proj [1:2, 6:8, 0:8]"));
  EXPECT_THAT(rank.Text(experts + "w2_weight", prefix),
              ElementsAre("BF16 [2, 8, 2]", "[0, 0, 0] down_proj [0:1, 0:8, 2:4]",
                          "[1, 0, 0] down_proj [1:2, 0:8, 2:4]"));
  const Rank swapped(json, R"({"tensor": 2, "moeBackend": "flashinfer_cutlass"})", 2, 1);
  EXPECT_THAT(swapped.Text(experts + "w13_weight", prefix),
              ElementsAre("BF16 [2, 4, 8]", "[0, 0, 0] gate_up_proj [0:1, 6:8, 0:8]",
                          "[0, 2, 0] gate_up_proj [0:1, 2:4, 0:8]",
                          "[1, 0, 0] gate_up_proj [1:2, 6:8, 0:8]",
                          "[1, 2, 0] gate_up_proj [1:2, 2:4, 0:8]"));
  EXPECT_THAT(rank.names("language_model."), Contains("lm_head.weight"));
  EXPECT_THAT(rank.names("language_model.model."), Contains("embed_tokens.weight"));
}

const std::string kHybrid =
    R"({"model_type": "nemotron_h", "torch_dtype": "bfloat16", "hidden_size": 8,
        "num_hidden_layers": 4, "hybrid_override_pattern": "M-*E", "mamba_num_heads": 4,
        "mamba_head_dim": 3, "n_groups": 1, "ssm_state_size": 5, "conv_kernel": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2, "intermediate_size": 12,
        "n_routed_experts": 2, "moe_intermediate_size": 4, "moe_latent_size": 6,
        "moe_shared_expert_intermediate_size": 12, "vocab_size": 64,
        "tie_word_embeddings": false})";

// z 12 | x 12 | B 5 | C 5 | dt 4 over 4 ranks: the one group whole on each. Two key-value heads.
TEST(VllmFamilies, EveryParameterOfAHybridModel) {
  const Rank rank(kHybrid, R"({"tensor": 4})", 4, 3);
  ASSERT_EQ(rank.error(), "none");
  EXPECT_THAT(rank.names("model."), Contains("embed_tokens.weight"));
  EXPECT_THAT(rank.names("model."), Contains("norm_f.weight"));
  EXPECT_THAT(
      rank.names("model.layers."),
      ElementsAre("0.mixer.D", "0.mixer.conv1d.bias", "0.mixer.conv1d.weight", "0.mixer.dt_bias",
                  "0.mixer.in_proj.weight", "0.mixer.norm.weight", "0.mixer.out_proj.weight",
                  "0.norm.weight", "1.mixer.down_proj.weight", "1.mixer.up_proj.weight",
                  "1.norm.weight", "2.mixer.o_proj.weight", "2.mixer.qkv_proj.weight",
                  "2.norm.weight", "3.mixer.experts.routed_experts.w13_weight",
                  "3.mixer.experts.routed_experts.w2_weight", "3.mixer.fc1_latent_proj.weight",
                  "3.mixer.fc2_latent_proj.weight", "3.mixer.gate.e_score_correction_bias",
                  "3.mixer.gate.weight", "3.mixer.shared_experts.down_proj.weight",
                  "3.mixer.shared_experts.up_proj.weight", "3.norm.weight"));
  EXPECT_THAT(
      rank.Text("model.layers.0.mixer.in_proj.weight", "backbone.layers.0.mixer."),
      ElementsAre("BF16 [17, 8]", "[0, 0] in_proj.weight [9:12, 0:8]",
                  "[3, 0] in_proj.weight [21:24, 0:8]", "[6, 0] in_proj.weight [24:29, 0:8]",
                  "[11, 0] in_proj.weight [29:34, 0:8]", "[16, 0] in_proj.weight [37:38, 0:8]"));
  EXPECT_THAT(rank.Text("model.layers.0.mixer.conv1d.bias", "backbone.layers.0.mixer."),
              ElementsAre("BF16 [13]", "[0] conv1d.bias [9:12]", "[3] conv1d.bias [12:17]",
                          "[8] conv1d.bias [17:22]"));
  EXPECT_THAT(rank.Text("model.layers.2.mixer.qkv_proj.weight", "backbone.layers.2.mixer."),
              ElementsAre("BF16 [6, 8]", "[0, 0] q_proj.weight [6:8, 0:8]",
                          "[2, 0] k_proj.weight [2:4, 0:8]", "[4, 0] v_proj.weight [2:4, 0:8]"));
  // Not gated, at the latent width: row 3 of up, column 3 of down.
  EXPECT_THAT(rank.Text("model.layers.3.mixer.experts.routed_experts.w13_weight",
                        "backbone.layers.3.mixer."),
              ElementsAre("BF16 [2, 1, 6]", "[0, 0, 0] experts.0.up_proj.weight [3:4, 0:6]",
                          "[1, 0, 0] experts.1.up_proj.weight [3:4, 0:6]"));
  // SGLang's names of the same.
  const Rank sglang(kHybrid, R"({"tensor": 4, "sharedExperts": "tensor"})", 4, 3,
                    BuildSglangLayout);
  ASSERT_EQ(sglang.error(), "none");
  EXPECT_THAT(sglang.names("model."), Contains("embed_tokens.weight"));
}

// A layer that lists some of the input projection.
TEST(VllmFamilies, HalfADeltaNetIsRefused) {
  const auto error_of = [](const std::string& part) {
    const std::string json = R"({"tensors": {"model.layers.0.linear_attn.)" + part +
                             R"(.weight": {"shape": [20, 8], "dtype": "BF16"}},
        "family": "qwen3_5", "config": {"num_hidden_layers": 1, "hidden_size": 8,
            "layer_types": ["linear_attention"], "linear_num_key_heads": 2,
            "linear_num_value_heads": 4, "linear_key_head_dim": 3, "linear_value_head_dim": 5}})";
    return Rank(json, R"({"tensor": 2})", 2, 0).error();
  };
  EXPECT_THAT(error_of("in_proj_z"), HasSubstr("in_proj would hold some parts only"));
  EXPECT_THAT(error_of("in_proj_z"), HasSubstr("list all parts or none"));
}

const std::string kOss =
    R"({"model_type": "gpt_oss", "torch_dtype": "bfloat16", "hidden_size": 3,
        "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2,
        "intermediate_size": 4, "num_local_experts": 2, "vocab_size": 64, "attention_bias": true})";

// Columns g0 u0 g1 u1 .. of [2, 3, 8] become rows, still alternating: element (e, h, c) is
// 24 e + 8 h + c.
TEST(VllmFamilies, InterleavedExpertsStaySo) {
  const Rank rank(kOss, R"({"tensor": 2, "expertParallel": true})", 2, 1);
  ASSERT_EQ(rank.error(), "none");
  const std::string experts = "model.layers.0.mlp.experts.routed_experts.";
  EXPECT_THAT(rank.Elements(experts + "w13_weight"),
              ElementsAre(24, 32, 40, 25, 33, 41, 26, 34, 42, 27, 35, 43, 28, 36, 44, 29, 37, 45,
                          30, 38, 46, 31, 39, 47));
  EXPECT_THAT(rank.Elements(experts + "w13_bias"), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_THAT(rank.Elements(experts + "w2_bias"), ElementsAre(3, 4, 5));
  // Down [2, 4, 3]: element (e, f, h) is 12 e + 3 f + h.
  EXPECT_THAT(rank.Elements(experts + "w2_weight"),
              ElementsAre(12, 15, 18, 21, 13, 16, 19, 22, 14, 17, 20, 23));
  EXPECT_THAT(
      rank.names("model.layers.0.attn."),
      ElementsAre("o_proj.bias", "o_proj.weight", "qkv_proj.bias", "qkv_proj.weight", "sinks"));
  EXPECT_THAT(rank.Text("model.layers.0.attn.sinks", "model.layers.0.self_attn."),
              ElementsAre("BF16 [2]", "[0] sinks [2:4]"));
  EXPECT_THAT(rank.names("model."), Contains("embedding.weight"));
  EXPECT_THAT(rank.names("model.layers.0.mlp.router."), ElementsAre("bias", "weight"));
}

// Cut over the ranks: rank 1 has f 2 and 3, the columns 4 to 7 of each expert's eight. The bias of
// down is added once, by rank 0; the others hold zeros in its place.
TEST(VllmFamilies, InterleavedExpertsAreCutInPairs) {
  const Rank first(kOss, R"({"tensor": 2})", 2, 0);
  const Rank second(kOss, R"({"tensor": 2})", 2, 1);
  ASSERT_EQ(second.error(), "none");
  const std::string experts = "model.layers.0.mlp.experts.routed_experts.";
  EXPECT_THAT(second.Elements(experts + "w13_bias"), ElementsAre(4, 5, 6, 7, 12, 13, 14, 15));
  EXPECT_THAT(second.Elements(experts + "w2_weight"),
              ElementsAre(6, 9, 7, 10, 8, 11, 18, 21, 19, 22, 20, 23));
  EXPECT_THAT(first.Elements(experts + "w2_bias"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(first.ZeroElements(), 0);
  EXPECT_THAT(second.Elements(experts + "w2_bias"), ElementsAre(-1, -1, -1, -1, -1, -1));
  EXPECT_EQ(second.ZeroElements(), 6);
}

TEST(VllmFamilies, ExpertsOfAnOrderThatIsNotKnownAreRefused) {
  EXPECT_THAT(Rank(kOss, R"({"tensor": 2, "expert": 2})", 2, 0, BuildSglangLayout).error(),
              HasSubstr("gate_up_proj: in which order sglang keeps gate and up"));
}

// Gate columns 0 and 1, up columns 2 and 3 of [2, 3, 4]; heads of 4 rows come in pairs.
TEST(VllmFamilies, RotaryRowsBecomeHalves) {
  const Rank rank(
      R"({"model_type": "llama4", "torch_dtype": "bfloat16", "text_config": {
          "model_type": "llama4_text", "hidden_size": 3, "num_hidden_layers": 1,
          "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 4,
          "intermediate_size": 2, "intermediate_size_mlp": 4, "num_local_experts": 2,
          "interleave_moe_layer_step": 1, "vocab_size": 64}})",
      R"({"tensor": 2})", 2, 1);
  ASSERT_EQ(rank.error(), "none");
  const std::string layer = "language_model.model.layers.0.";
  // Rows 8:16 of q are heads 2 and 3; each 0 2 1 3. The one key head is on both ranks; v is as it
  // was.
  EXPECT_THAT(rank.Text(layer + "self_attn.qkv_proj.weight", layer + "self_attn."),
              ElementsAre("BF16 [16, 3]", "[0, 0] q_proj.weight [8:9, 0:3]",
                          "[1, 0] q_proj.weight [10:11, 0:3]", "[2, 0] q_proj.weight [9:10, 0:3]",
                          "[3, 0] q_proj.weight [11:12, 0:3]", "[4, 0] q_proj.weight [12:13, 0:3]",
                          "[5, 0] q_proj.weight [14:15, 0:3]", "[6, 0] q_proj.weight [13:14, 0:3]",
                          "[7, 0] q_proj.weight [15:16, 0:3]", "[8, 0] k_proj.weight [0:1, 0:3]",
                          "[9, 0] k_proj.weight [2:3, 0:3]", "[10, 0] k_proj.weight [1:2, 0:3]",
                          "[11, 0] k_proj.weight [3:4, 0:3]", "[12, 0] v_proj.weight [0:4, 0:3]"));
  // Row 1 of gate and of up: columns 1 and 3.
  EXPECT_THAT(rank.Elements(layer + "feed_forward.experts.routed_experts.w13_weight"),
              ElementsAre(1, 5, 9, 3, 7, 11, 13, 17, 21, 15, 19, 23));
  EXPECT_THAT(rank.Elements(layer + "feed_forward.experts.routed_experts.w2_weight"),
              ElementsAre(3, 4, 5, 9, 10, 11));
  EXPECT_THAT(rank.names(layer + "feed_forward.shared_expert."),
              ElementsAre("down_proj.weight", "gate_up_proj.weight"));
}

const std::string kMixtral =
    R"({"model_type": "mixtral", "torch_dtype": "bfloat16", "hidden_size": 4,
        "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
        "intermediate_size": 6, "num_local_experts": 2, "vocab_size": 64})";

// What backends make of the experts after loading: planned, or refused by name.
TEST(VllmFamilies, BackendsOfTheExperts) {
  const Rank swapped(kMixtral, R"({"tensor": 2, "moeBackend": "flashinfer_cutlass"})", 2, 1);
  ASSERT_EQ(swapped.error(), "none");
  const std::string module = "model.layers.0.block_sparse_moe.";
  EXPECT_THAT(swapped.Text(module + "experts.routed_experts.w13_weight", module),
              ElementsAre("BF16 [2, 6, 4]", "[0, 0, 0] experts.0.w3.weight [3:6, 0:4]",
                          "[0, 3, 0] experts.0.w1.weight [3:6, 0:4]",
                          "[1, 0, 0] experts.1.w3.weight [3:6, 0:4]",
                          "[1, 3, 0] experts.1.w1.weight [3:6, 0:4]"));
  EXPECT_EQ(Rank(kMixtral, R"({"moeBackend": "triton"})", 1, 0).error(), "none");
  EXPECT_THAT(Rank(kMixtral, R"({"moeBackend": "flashinfer_trtllm"})", 1, 0).error(),
              HasSubstr("moeBackend: model.layers.0.block_sparse_moe.experts.0.w1.weight: backend "
                        "flashinfer_trtllm keeps it as blocks shuffled for its kernels; run the "
                        "engine with moe_backend triton"));
  EXPECT_THAT(Rank(kMixtral, R"({"moeBackend": "flashinfer_trt"})", 1, 0).error(),
              HasSubstr("family mixtral knows no backend 'flashinfer_trt'; did you mean "
                        "'flashinfer_trtllm'?"));
}

// w1, w3, w2 are gate, up and down.
TEST(VllmFamilies, ExpertsByOtherNames) {
  const Rank rank(kMixtral, R"({"tensor": 2})", 2, 1);
  ASSERT_EQ(rank.error(), "none");
  const std::string module = "model.layers.0.block_sparse_moe.";
  EXPECT_THAT(rank.names(module), ElementsAre("experts.routed_experts.w13_weight",
                                              "experts.routed_experts.w2_weight", "gate.weight"));
  EXPECT_THAT(rank.Text(module + "experts.routed_experts.w13_weight", module),
              ElementsAre("BF16 [2, 6, 4]", "[0, 0, 0] experts.0.w1.weight [3:6, 0:4]",
                          "[0, 3, 0] experts.0.w3.weight [3:6, 0:4]",
                          "[1, 0, 0] experts.1.w1.weight [3:6, 0:4]",
                          "[1, 3, 0] experts.1.w3.weight [3:6, 0:4]"));
}

}  // namespace
}  // namespace reshard
