#include "compiler/layout/vllm_layer.h"

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

Held LayerOf(Model model, std::int64_t layer, const VllmDegrees& degrees, const VllmCoordinates& at,
             const std::vector<std::int64_t>& experts = {}) {
  Held held;
  held.model = std::move(model);
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(held.model);
  EXPECT_TRUE(tensors) << ToString(tensors.error());
  RankLayoutBuilder builder(held.model);
  const Result<void> added =
      AddVllmLayer(*tensors, degrees, at, experts, tensors->layers().at(layer), builder);
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

TEST(VllmLayer, EveryParameterOfADenseLayer) {
  const Held held = LayerOf(Of(kLlama), 1, {}, {});
  EXPECT_THAT(
      ParameterNames(held.layout),
      ElementsAre("model.layers.1.input_layernorm.weight",  //
                  "model.layers.1.mlp.down_proj.bias", "model.layers.1.mlp.down_proj.weight",
                  "model.layers.1.mlp.gate_up_proj.bias", "model.layers.1.mlp.gate_up_proj.weight",
                  "model.layers.1.post_attention_layernorm.weight",
                  "model.layers.1.self_attn.o_proj.bias", "model.layers.1.self_attn.o_proj.weight",
                  "model.layers.1.self_attn.qkv_proj.bias",
                  "model.layers.1.self_attn.qkv_proj.weight"));
}

TEST(VllmLayer, BiasesFollowTheRows) {
  VllmDegrees degrees;
  degrees.tensor = 2;
  const Held held = LayerOf(Of(kLlama), 0, degrees, {.tensor = 1});
  const std::string prefix = "model.layers.0.";
  EXPECT_THAT(ParameterText(held.model, held.layout, prefix + "self_attn.qkv_proj.bias", prefix),
              ElementsAre("BF16 [8]", "[0] self_attn.q_proj.bias [4:8]",
                          "[4] self_attn.k_proj.bias [2:4]", "[6] self_attn.v_proj.bias [2:4]"));
  EXPECT_THAT(ParameterText(held.model, held.layout, prefix + "mlp.down_proj.bias", prefix),
              ElementsAre("BF16 [8]", "[0] mlp.down_proj.bias [0:8]"));
}

// Without a low-rank query kv_a_proj_with_mqa stands alone.
TEST(VllmLayer, LatentAttentionWithAPlainQuery) {
  VllmDegrees degrees;
  degrees.tensor = 2;
  const Held held =
      LayerOf(Of(R"({"model_type": "deepseek_v3", "torch_dtype": "bfloat16", "hidden_size": 8,
          "num_hidden_layers": 1, "num_attention_heads": 4, "q_lora_rank": null,
          "kv_lora_rank": 6, "qk_nope_head_dim": 2, "qk_rope_head_dim": 1, "v_head_dim": 3,
          "intermediate_size": 6, "first_k_dense_replace": 1, "moe_intermediate_size": 2,
          "n_routed_experts": 2, "vocab_size": 4})"),
              0, degrees, {.tensor = 1});
  const std::string prefix = "model.layers.0.self_attn.";
  EXPECT_THAT(ParameterText(held.model, held.layout, prefix + "kv_a_proj_with_mqa.weight", prefix),
              ElementsAre("BF16 [7, 8]", "[0, 0] kv_a_proj_with_mqa.weight [0:7, 0:8]"));
  EXPECT_THAT(ParameterText(held.model, held.layout, prefix + "q_proj.weight", prefix),
              ElementsAre("BF16 [6, 8]", "[0, 0] q_proj.weight [6:12, 0:8]"));
}

// Slots in the order given, copies included.
TEST(VllmLayer, StacksFollowTheSlots) {
  VllmDegrees degrees;
  degrees.expert_parallel = true;
  const Held held = LayerOf(ReferenceModel("tiny-moe"), 0, degrees, {}, {15, 0, 15});
  const std::string prefix = "model.layers.0.mlp.experts.";
  EXPECT_THAT(ParameterText(held.model, held.layout, prefix + "routed_experts.w2_weight", prefix),
              ElementsAre("BF16 [3, 512, 128]", "[0, 0, 0] 15.down_proj.weight [0:512, 0:128]",
                          "[1, 0, 0] 0.down_proj.weight [0:512, 0:128]",
                          "[2, 0, 0] 15.down_proj.weight [0:512, 0:128]"));
}

// A rank without slots has no stack.
TEST(VllmLayer, ARankMayHoldNoExpert) {
  VllmDegrees degrees;
  degrees.expert_parallel = true;
  const Held held = LayerOf(ReferenceModel("tiny-moe"), 0, degrees, {});
  for (const std::string& name : ParameterNames(held.layout)) {
    EXPECT_EQ(name.find("routed_experts"), std::string::npos) << name;
  }
}

TEST(VllmLayer, AQueryDownProjectionWithoutItsNeighbourIsRefused) {
  Model model = BareList(ReferenceModel("deepseek-v3-bf16", 4));
  std::erase_if(model.tensors, [](const Tensor& tensor) {
    return tensor.name == "model.layers.1.self_attn.kv_a_proj_with_mqa.weight";
  });
  EXPECT_THAT(LayerOf(model, 1, {}, {}).error,
              HasSubstr("fused_qkv_a_proj.weight would hold some parts only"));
}

TEST(VllmLayer, NamesOfALinear) {
  const LinearNames names = VllmNames("model.layers.3.mlp.down_proj.weight");
  EXPECT_EQ(names.weight, "model.layers.3.mlp.down_proj.weight");
  EXPECT_EQ(names.bias, "model.layers.3.mlp.down_proj.bias");
  EXPECT_EQ(names.scale, "model.layers.3.mlp.down_proj.weight_scale_inv");
  EXPECT_EQ(VllmNames("mlp.gate.e_score_correction_bias").bias, "");
}

}  // namespace
}  // namespace reshard
