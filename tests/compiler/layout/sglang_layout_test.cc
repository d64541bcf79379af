#include "compiler/layout/sglang_layout.h"

#include <numeric>
#include <string>

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

GroupLayout Sglang(const Model& model, const std::string& fields, std::int64_t rank_count) {
  return Built(BuildSglangLayout, model, fields, rank_count);
}

std::string ErrorOf(const Model& model, const std::string& fields, std::int64_t rank_count) {
  return RefusalOf(BuildSglangLayout, model, fields, rank_count);
}

const std::string kSmallDeepSeek =
    R"({"model_type": "deepseek_v3", "torch_dtype": "bfloat16", "hidden_size": 8,
        "num_hidden_layers": 2, "num_nextn_predict_layers": 1, "num_attention_heads": 8,
        "q_lora_rank": 4, "kv_lora_rank": 4, "qk_nope_head_dim": 2, "qk_rope_head_dim": 2,
        "v_head_dim": 2, "intermediate_size": 16, "vocab_size": 200, "first_k_dense_replace": 1,
        "n_routed_experts": 8, "n_shared_experts": 1, "moe_intermediate_size": 8, "n_group": 2})";

// tp 16, four attention replicas, eight expert ranks: rank 13 is share 1 of 4 of attention, expert
// rank 6 and share 1 of 2 of its experts, 192 .. 223 of 256.
constexpr const char* kSixteen = R"({"tensor": 16, "attentionData": 4, "expert": 8})";

TEST(SglangLayout, Rank13OfDeepSeekV3OnSixteenRanks) {
  const Model model = ReferenceModel("deepseek-v3-bf16", 4);
  const GroupLayout group = Sglang(model, kSixteen, 16);
  const RankLayout& rank = OfRank(group, 13);
  const std::string name = "model.layers.3.";
  // Both down projections whole, heads of attention 32 .. 63 of 128: 192 rows each of q_b, 256 of
  // kv_b, 128 columns of o.
  EXPECT_THAT(ParameterText(model, rank, name + "self_attn.fused_qkv_a_proj_with_mqa.weight", name),
              ElementsAre("BF16 [2112, 7168]", "[0, 0] self_attn.q_a_proj.weight [0:1536, 0:7168]",
                          "[1536, 0] self_attn.kv_a_proj_with_mqa.weight [0:576, 0:7168]"));
  EXPECT_THAT(
      ParameterText(model, rank, name + "self_attn.q_b_proj.weight", name),
      ElementsAre("BF16 [6144, 1536]", "[0, 0] self_attn.q_b_proj.weight [6144:12288, 0:1536]"));
  EXPECT_THAT(
      ParameterText(model, rank, name + "self_attn.kv_b_proj.weight", name),
      ElementsAre("BF16 [8192, 512]", "[0, 0] self_attn.kv_b_proj.weight [8192:16384, 0:512]"));
  EXPECT_THAT(
      ParameterText(model, rank, name + "self_attn.o_proj.weight", name),
      ElementsAre("BF16 [7168, 4096]", "[0, 0] self_attn.o_proj.weight [0:7168, 4096:8192]"));
  const std::vector<std::string> rows =
      ParameterText(model, rank, name + "mlp.experts.w13_weight", name + "mlp.experts.");
  ASSERT_EQ(rows.size(), 1U + 2 * 32);
  EXPECT_EQ(rows[0], "BF16 [32, 2048, 7168]");
  EXPECT_EQ(rows[1], "[0, 0, 0] 192.gate_proj.weight [1024:2048, 0:7168]");
  EXPECT_EQ(rows[2], "[0, 1024, 0] 192.up_proj.weight [1024:2048, 0:7168]");
  EXPECT_EQ(rows[64], "[31, 1024, 0] 223.up_proj.weight [1024:2048, 0:7168]");
  const std::vector<std::string> down =
      ParameterText(model, rank, name + "mlp.experts.w2_weight", name + "mlp.experts.");
  EXPECT_EQ(down[0], "BF16 [32, 7168, 1024]");
  EXPECT_EQ(down[32], "[31, 0, 0] 223.down_proj.weight [0:7168, 1024:2048]");
  // Dense and shared MLPs are cut over all sixteen: 18432 / 16 = 1152 and 2048 / 16 = 128 rows.
  EXPECT_THAT(
      ParameterText(model, rank, "model.layers.0.mlp.gate_up_proj.weight", "model.layers.0.mlp."),
      ElementsAre("BF16 [2304, 7168]", "[0, 0] gate_proj.weight [14976:16128, 0:7168]",
                  "[1152, 0] up_proj.weight [14976:16128, 0:7168]"));
  EXPECT_THAT(ParameterText(model, rank, name + "mlp.shared_experts.down_proj.weight", name),
              ElementsAre("BF16 [7168, 128]",
                          "[0, 0] mlp.shared_experts.down_proj.weight [0:7168, 1664:1792]"));
  EXPECT_THAT(group.recompute, ElementsAre("model.layers.{layer}.self_attn.w_kc",
                                           "model.layers.{layer}.self_attn.w_vc"));
}

// 129280 rows: the embedding over attention's four ranks, the head over all sixteen or, if said,
// over the four; or the embedding whole.
TEST(SglangLayout, EmbeddingAndHeadUnderAttentionData) {
  const Model model = ReferenceModel("deepseek-v3-bf16", 1);
  const GroupLayout group = Sglang(model, kSixteen, 16);
  EXPECT_EQ(ParameterText(model, OfRank(group, 13), "model.embed_tokens.weight")[1],
            "[0, 0] model.embed_tokens.weight [32320:64640, 0:7168]");
  EXPECT_EQ(ParameterText(model, OfRank(group, 13), "lm_head.weight")[1],
            "[0, 0] lm_head.weight [105040:113120, 0:7168]");
  const GroupLayout other = Sglang(model,
                                   R"({"tensor": 16, "attentionData": 4, "expert": 8,
                                       "replicatedEmbedding": true, "lmHeadOverAttention": true})",
                                   16);
  EXPECT_EQ(ParameterText(model, OfRank(other, 13), "model.embed_tokens.weight")[1],
            "[0, 0] model.embed_tokens.weight [0:129280, 0:7168]");
  EXPECT_EQ(ParameterText(model, OfRank(other, 13), "lm_head.weight")[1],
            "[0, 0] lm_head.weight [32320:64640, 0:7168]");
}

// 151936 = 64 * 2374 rows divide by eight as they are and not by six: padded there to a multiple of
// 64 * 6, 152064. The last rank holds 151936 - 5 * 25344 = 25216 rows of its 25344.
TEST(SglangLayout, VocabularyIsPaddedTo64OrTo64ForEachRank) {
  const Model model = Of(R"({"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 96,
             "num_hidden_layers": 1, "num_attention_heads": 24, "num_key_value_heads": 24,
             "head_dim": 4, "intermediate_size": 96, "vocab_size": 151936})");
  const GroupLayout six = Sglang(model, R"({"tensor": 6})", 6);
  EXPECT_THAT(ParameterText(model, OfRank(six, 0), "lm_head.weight"),
              ElementsAre("BF16 [25344, 96]", "[0, 0] lm_head.weight [0:25344, 0:96]"));
  EXPECT_THAT(ParameterText(model, OfRank(six, 5), "lm_head.weight"),
              ElementsAre("BF16 [25344, 96]", "[0, 0] lm_head.weight [126720:151936, 0:96]"));
  const GroupLayout eight = Sglang(model, R"({"tensor": 8})", 8);
  EXPECT_THAT(
      ParameterText(model, OfRank(eight, 7), "model.embed_tokens.weight"),
      ElementsAre("BF16 [18992, 96]", "[0, 0] model.embed_tokens.weight [132944:151936, 0:96]"));
}

// Where ranks outnumber the key-value heads, neighbours hold the same ones: four heads over eight
// ranks, two by two; eight heads over sixteen; four heads over two.
TEST(SglangLayout, KeyValueHeadsAreReplicated) {
  const Model qwen = ReferenceModel("qwen3-235b", 1);
  const std::string name = "model.layers.0.self_attn.";
  const GroupLayout eight = Sglang(qwen, R"({"tensor": 8})", 8);
  EXPECT_THAT(ParameterText(qwen, OfRank(eight, 5), name + "qkv_proj.weight", name),
              ElementsAre("BF16 [1280, 4096]", "[0, 0] q_proj.weight [5120:6144, 0:4096]",
                          "[1024, 0] k_proj.weight [256:384, 0:4096]",
                          "[1152, 0] v_proj.weight [256:384, 0:4096]"));
  const Model llama = Of(R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 32,
             "num_hidden_layers": 1, "num_attention_heads": 16, "num_key_value_heads": 8,
             "head_dim": 2, "intermediate_size": 32, "vocab_size": 64})");
  const GroupLayout sixteen = Sglang(llama, R"({"tensor": 16})", 16);
  for (std::int64_t rank = 0; rank < 16; ++rank) {
    const std::int64_t head = rank / 2;
    EXPECT_EQ(ParameterText(llama, OfRank(sixteen, rank), name + "qkv_proj.weight", name)[2],
              "[2, 0] k_proj.weight [" + std::to_string(2 * head) + ":" +
                  std::to_string(2 * head + 2) + ", 0:32]");
  }
  const GroupLayout two = Sglang(llama, R"({"tensor": 2})", 2);
  EXPECT_EQ(ParameterText(llama, OfRank(two, 1), name + "qkv_proj.weight", name)[2],
            "[16, 0] k_proj.weight [8:16, 0:32]");
}

TEST(SglangLayout, SharedExpertsAreWhereTheFieldSays) {
  const Model model = Of(kSmallDeepSeek);
  EXPECT_THAT(ErrorOf(model, R"({"tensor": 2})", 2),
              HasSubstr("SGLang may keep them as one more slot of the expert stacks; give "
                        "sharedExperts"));
  const std::string name = "model.layers.1.mlp.";
  const GroupLayout slot = Sglang(model, R"({"tensor": 2, "sharedExperts": "appended"})", 2);
  const std::vector<std::string> rows =
      ParameterText(model, OfRank(slot, 1), name + "experts.w13_weight", name);
  EXPECT_EQ(rows[0], "BF16 [9, 8, 8]");
  EXPECT_EQ(rows[17], "[8, 0, 0] shared_experts.gate_proj.weight [4:8, 0:8]");
  EXPECT_EQ(rows[18], "[8, 4, 0] shared_experts.up_proj.weight [4:8, 0:8]");
  EXPECT_EQ(ParameterText(model, OfRank(slot, 1), name + "experts.w2_weight", name)[9],
            "[8, 0, 0] shared_experts.down_proj.weight [0:8, 4:8]");
  EXPECT_THAT(ParameterNames(OfRank(slot, 1)),
              Not(Contains(name + "shared_experts.down_proj.weight")));
  const GroupLayout whole = Sglang(model, R"({"tensor": 2, "sharedExperts": "replicated"})", 2);
  EXPECT_THAT(
      ParameterText(model, OfRank(whole, 1), name + "shared_experts.down_proj.weight", name),
      ElementsAre("BF16 [8, 8]", "[0, 0] shared_experts.down_proj.weight [0:8, 0:8]"));
  EXPECT_THAT(ErrorOf(model, R"({"tensor": 2, "expert": 2, "sharedExperts": "appended"})", 2),
              HasSubstr("appends the shared expert only without expert parallelism"));
}

// Llama 4's experts come in one stack for a layer.
TEST(SglangLayout, SharedExpertsAreNotAppendedToAStackOfTheCheckpoint) {
  const Model model = Of(R"({"model_type": "llama4_text", "torch_dtype": "bfloat16",
      "hidden_size": 3, "num_hidden_layers": 1, "num_attention_heads": 4,
      "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": 2,
      "intermediate_size_mlp": 4, "num_local_experts": 2, "interleave_moe_layer_step": 1,
      "vocab_size": 64})");
  EXPECT_THAT(ErrorOf(model, R"({"tensor": 2, "sharedExperts": "appended"})", 2),
              HasSubstr("sharedExperts: the adapter appends a shared expert only to experts listed "
                        "one by one, and layer 0 holds them as one stack; say \"tensor\" or "
                        "\"replicated\""));
  const GroupLayout apart = Sglang(model, R"({"tensor": 2, "sharedExperts": "tensor"})", 2);
  EXPECT_THAT(ParameterNames(OfRank(apart, 0)),
              Contains("model.layers.0.feed_forward.shared_expert.down_proj.weight"));
}

// Runners that load up before gate.
TEST(SglangLayout, UpRowsMayComeFirst) {
  const Model model = Of(kSmallDeepSeek);
  const std::string name = "model.layers.1.mlp.";
  const GroupLayout group =
      Sglang(model, R"({"tensor": 2, "expert": 2, "expertRows": "upGate"})", 2);
  const std::vector<std::string> rows =
      ParameterText(model, OfRank(group, 1), name + "experts.w13_weight", name);
  EXPECT_EQ(rows[1], "[0, 0, 0] experts.4.up_proj.weight [0:8, 0:8]");
  EXPECT_EQ(rows[2], "[0, 8, 0] experts.4.gate_proj.weight [0:8, 0:8]");
}

// moe_dense_tp_size 1: the MLP of dense layers whole on every rank, all else as before.
TEST(SglangLayout, DenseLayersMayBeReplicated) {
  const Model model = Of(kSmallDeepSeek);
  const std::string name = "model.layers.0.mlp.";
  const GroupLayout group = Sglang(model, R"({"tensor": 4, "expert": 4, "denseTensor": 1})", 4);
  EXPECT_EQ(ParameterText(model, OfRank(group, 3), name + "down_proj.weight", name)[1],
            "[0, 0] down_proj.weight [0:8, 0:16]");
  const Model dense = ReferenceModel("qwen3-4b", 1);
  EXPECT_THAT(ErrorOf(dense, R"({"tensor": 4, "denseTensor": 1})", 4),
              HasSubstr("for models with experts only"));
}

// Two stages: the copy of the embedding is the LM head of the last one.
TEST(SglangLayout, TiedHead) {
  const Model model = ReferenceModel("qwen3-4b", 3);
  const GroupLayout one = Sglang(model, R"({"tensor": 2})", 2);
  EXPECT_THAT(ParameterNames(OfRank(one, 0)), Not(Contains("lm_head.weight")));
  const GroupLayout two = Sglang(model, R"({"tensor": 2, "pipeline": 2})", 4);
  EXPECT_THAT(
      ParameterText(model, OfRank(two, 3), "lm_head.weight"),
      ElementsAre("BF16 [75968, 2560]", "[0, 0] model.embed_tokens.weight [75968:151936, 0:2560]"));
  EXPECT_THAT(ParameterNames(OfRank(two, 3)), Not(Contains("model.embed_tokens.weight")));
  // Three layers over two stages: one and two.
  EXPECT_THAT(ParameterNames(OfRank(two, 0)),
              Not(Contains("model.layers.1.input_layernorm.weight")));
  EXPECT_THAT(ParameterNames(OfRank(two, 2)), Contains("model.layers.1.input_layernorm.weight"));
}

// SGLang refines no scales: what cuts a block is refused by the tensor's name.
TEST(SglangLayout, Fp8ShardsThatCutBlocksAreRefused) {
  const Model model = ReferenceModel("deepseek-v3", 4);
  EXPECT_THAT(
      ErrorOf(model, R"({"tensor": 32, "denseTensor": 1, "sharedExperts": "replicated"})", 32),
      HasSubstr("model.layers.3.mlp.experts.0.gate_proj.weight: rows 0 to 64 of 2048 cut "
                "its FP8 blocks of 128"));
  EXPECT_EQ(ErrorOf(model, kSixteen, 16), "none");
}

// Over one replica every element of every tensor but those of multi-token prediction is held, and
// nothing is declared twice.
TEST(SglangLayout, ReplicasAreComplete) {
  const Model model = Of(kSmallDeepSeek);
  for (
      const char* fields :
      {R"({"tensor": 8, "expert": 8})", R"({"tensor": 8, "attentionData": 2, "expert": 4})",
       R"({"tensor": 4, "pipeline": 2, "attentionContext": 2, "expert": 2, "expertData": 2})",
       R"({"tensor": 8, "sharedExperts": "appended"})",
       R"({"tensor": 8, "attentionData": 4, "sharedExperts": "tensor", "lmHeadOverAttention": true})"}) {
    SCOPED_TRACE(fields);
    const GroupLayout group = Sglang(model, fields, 8);
    std::vector<std::int64_t> ranks(8);
    std::iota(ranks.begin(), ranks.end(), 0);
    ExpectComplete(model, group, ranks,
                   [](const std::string& name) { return name.starts_with("model.layers.2."); });
  }
}

}  // namespace
}  // namespace reshard
