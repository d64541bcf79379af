#include "compiler/layout/torchtitan_parameters.h"

#include <algorithm>
#include <string>
#include <vector>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::UnorderedElementsAre;

// Every parameter of a layer with latent attention and experts, how it is cut, and which of them
// are experts and buffers.
TEST(TorchtitanParameters, OfALayerOfDeepSeekV3) {
  const Model model = ReferenceModel("deepseek-v3-bf16", 4);
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  const TorchtitanStages stages{{0, 0, 0, 1}, 0, 1};
  const auto parameters = TorchtitanParameters(*tensors, {.pipeline = 2}, stages, false);
  ASSERT_TRUE(parameters) << ToString(parameters.error());
  std::vector<std::string> lines;
  for (const FsdpParameter& parameter : *parameters) {
    if (!parameter.whole.name.starts_with("layers.3.")) continue;
    EXPECT_EQ(parameter.stage, 1);
    lines.push_back(parameter.whole.name.substr(9) + " " + std::to_string(parameter.tensor_dim) +
                    (parameter.expert ? " expert" : "") + (parameter.buffer ? " buffer" : ""));
  }
  EXPECT_THAT(
      lines,
      UnorderedElementsAre(
          "attention_norm.weight -1", "ffn_norm.weight -1", "attention.wq_a.weight -1",
          "attention.q_norm.weight -1", "attention.wq_b.weight 0", "attention.wkv_a.weight -1",
          "attention.kv_norm.weight -1", "attention.wkv_b.weight 0", "attention.wo.weight 1",
          "moe.router.gate.weight -1", "moe.expert_bias_E -1 buffer",
          "moe.shared_experts.w1.weight 0", "moe.shared_experts.w3.weight 0",
          "moe.shared_experts.w2.weight 1", "moe.routed_experts.inner_experts.w1_EFD 1 expert",
          "moe.routed_experts.inner_experts.w3_EFD 1 expert",
          "moe.routed_experts.inner_experts.w2_EDF 2 expert"));
}

// The ends of the model: names, stages, and a dense layer's feed-forward.
TEST(TorchtitanParameters, OfADenseModel) {
  const Model model = ReferenceModel("qwen3-4b", 1);
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  ASSERT_TRUE(tensors);
  const auto parameters = TorchtitanParameters(*tensors, {.pipeline = 2}, {{0}, 0, 1}, false);
  ASSERT_TRUE(parameters) << ToString(parameters.error());
  std::vector<std::string> lines;
  for (const FsdpParameter& parameter : *parameters) {
    lines.push_back(parameter.whole.name + " " + std::to_string(parameter.stage));
  }
  EXPECT_THAT(lines, UnorderedElementsAre(
                         "tok_embeddings.weight 0", "norm.weight 1", "lm_head.weight 1",
                         "layers.0.attention_norm.weight 0", "layers.0.ffn_norm.weight 0",
                         "layers.0.attention.qkv_linear.wq.weight 0",
                         "layers.0.attention.qkv_linear.wk.weight 0",
                         "layers.0.attention.qkv_linear.wv.weight 0",
                         "layers.0.attention.wo.weight 0", "layers.0.attention.q_norm.weight 0",
                         "layers.0.attention.k_norm.weight 0", "layers.0.feed_forward.w1.weight 0",
                         "layers.0.feed_forward.w2.weight 0", "layers.0.feed_forward.w3.weight 0"));
}

}  // namespace
}  // namespace reshard
