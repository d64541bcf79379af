#include "compiler/layout/megatron_layer.h"

#include <string>
#include <vector>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Held {
  Model model;
  RankLayout layout;
  std::string error = "none";
};

// Layer `layer` of the model of `json` on the rank at `at`.
Held LayerOf(const std::string& json, std::int64_t layer, const MegatronDegrees& degrees,
             const MegatronCoordinates& at) {
  Held held;
  Result<Model> model = ModelOf(json);
  EXPECT_TRUE(model) << ToString(model.error());
  held.model = *std::move(model);
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(held.model);
  EXPECT_TRUE(tensors) << ToString(tensors.error());
  RankLayoutBuilder builder(held.model);
  const Result<void> added =
      AddMegatronLayer(*tensors, degrees, at, tensors->layers().at(layer), builder);
  if (!added) {
    held.error = ToString(added.error());
    return held;
  }
  held.layout = *std::move(builder).Build();
  return held;
}

const std::string kLlama =
    R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 8, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2, "intermediate_size": 6,
        "vocab_size": 4, "attention_bias": true, "mlp_bias": true})";

TEST(MegatronLayer, EveryParameterOfADenseLayer) {
  const Held held = LayerOf(kLlama, 1, {}, {});
  EXPECT_THAT(
      ParameterNames(held.layout),
      ElementsAre("decoder.layers.1.mlp.linear_fc1.bias",
                  "decoder.layers.1.mlp.linear_fc1.layer_norm_weight",
                  "decoder.layers.1.mlp.linear_fc1.weight", "decoder.layers.1.mlp.linear_fc2.bias",
                  "decoder.layers.1.mlp.linear_fc2.weight",
                  "decoder.layers.1.self_attention.linear_proj.bias",
                  "decoder.layers.1.self_attention.linear_proj.weight",
                  "decoder.layers.1.self_attention.linear_qkv.bias",
                  "decoder.layers.1.self_attention.linear_qkv.layer_norm_weight",
                  "decoder.layers.1.self_attention.linear_qkv.weight"));
}

// Biases of column parallel linears are cut as the rows, those of row parallel ones kept whole.
TEST(MegatronLayer, BiasesFollowTheRows) {
  MegatronDegrees degrees;
  degrees.tensor = 2;
  const Held held = LayerOf(kLlama, 0, degrees, {.tensor = 1});
  const std::string prefix = "model.layers.0.";
  const auto text = [&](const std::string& name) {
    return ParameterText(held.model, held.layout, "decoder.layers.0." + name, prefix);
  };
  // Group 1: query heads 2 and 3, k and v head 1, of two rows.
  EXPECT_THAT(text("self_attention.linear_qkv.bias"),
              ElementsAre("BF16 [8]", "[0] self_attn.q_proj.bias [4:8]",
                          "[4] self_attn.k_proj.bias [2:4]", "[6] self_attn.v_proj.bias [2:4]"));
  EXPECT_THAT(text("self_attention.linear_proj.bias"),
              ElementsAre("BF16 [8]", "[0] self_attn.o_proj.bias [0:8]"));
  EXPECT_THAT(text("mlp.linear_fc1.bias"), ElementsAre("BF16 [6]", "[0] mlp.gate_proj.bias [3:6]",
                                                       "[3] mlp.up_proj.bias [3:6]"));
  EXPECT_THAT(text("mlp.linear_fc2.bias"), ElementsAre("BF16 [8]", "[0] mlp.down_proj.bias [0:8]"));
  EXPECT_THAT(text("mlp.linear_fc2.weight"),
              ElementsAre("BF16 [8, 3]", "[0, 0] mlp.down_proj.weight [0:8, 3:6]"));
}

// Heads of 64 rows: a group of 2 query heads is 128 rows of q, 64 of k and of v, which cut blocks.
TEST(MegatronLayer, Fp8HeadsOfHalfABlockAreRefused) {
  const Held held = LayerOf(
      R"({"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 128,
          "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 64, "intermediate_size": 128, "vocab_size": 4,
          "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})",
      0, {}, {});
  EXPECT_THAT(held.error, HasSubstr("k_proj.weight: rows 0 to 64 of 128 cut its FP8 blocks"));
}

// Latent attention without a low-rank query.
TEST(MegatronLayer, LatentAttentionWithAPlainQuery) {
  MegatronDegrees degrees;
  degrees.tensor = 2;
  const Held held = LayerOf(
      R"({"model_type": "deepseek_v3", "torch_dtype": "bfloat16", "hidden_size": 8,
          "num_hidden_layers": 1, "num_attention_heads": 4, "q_lora_rank": null,
          "kv_lora_rank": 6, "qk_nope_head_dim": 2, "qk_rope_head_dim": 1, "v_head_dim": 3,
          "intermediate_size": 6, "first_k_dense_replace": 1, "moe_intermediate_size": 2,
          "n_routed_experts": 2, "vocab_size": 4})",
      0, degrees, {.tensor = 1});
  const std::string prefix = "model.layers.0.self_attn.";
  const auto text = [&](const std::string& name) {
    return ParameterText(held.model, held.layout, "decoder.layers.0.self_attention." + name,
                         prefix);
  };
  // 4 heads of 2 + 1 rows, over two ranks; k and v: 4 heads of 2 + 3.
  EXPECT_THAT(text("linear_q_proj.weight"),
              ElementsAre("BF16 [6, 8]", "[0, 0] q_proj.weight [6:12, 0:8]"));
  EXPECT_THAT(text("linear_kv_down_proj.weight"),
              ElementsAre("BF16 [7, 8]", "[0, 0] kv_a_proj_with_mqa.weight [0:7, 0:8]"));
  EXPECT_THAT(text("linear_kv_up_proj.weight"),
              ElementsAre("BF16 [10, 6]", "[0, 0] kv_b_proj.weight [10:20, 0:6]"));
  EXPECT_THAT(text("linear_proj.weight"),
              ElementsAre("BF16 [8, 6]", "[0, 0] o_proj.weight [0:8, 6:12]"));
}

TEST(MegatronLayer, NamesOfALinear) {
  const LinearNames plain = MegatronNames("decoder.final_layernorm");
  EXPECT_EQ(plain.weight, "decoder.final_layernorm.weight");
  EXPECT_EQ(plain.bias, "decoder.final_layernorm.bias");
  const LinearNames expert = MegatronNames("mlp.experts.linear_fc1", "7");
  EXPECT_EQ(expert.weight, "mlp.experts.linear_fc1.weight7");
  EXPECT_EQ(expert.bias, "mlp.experts.linear_fc1.bias7");
  EXPECT_EQ(expert.scale, "mlp.experts.linear_fc1.weight7._rowwise_scale_inv");
  EXPECT_EQ(expert.scale_columns_multiple, 4);
}

}  // namespace
}  // namespace reshard
