#include "compiler/layout/family_recomputed.h"

#include <string>
#include <utility>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RecomputedBuffers, AreThoseWhoseOriginTheModelHolds) {
  Model model = BareList(ReferenceModel("deepseek-v3", 4));
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  ASSERT_TRUE(tensors);
  EXPECT_THAT(
      RecomputedBuffers(*tensors, "vllm"),
      ElementsAre("model.layers.{layer}.self_attn.W_UK_T", "model.layers.{layer}.self_attn.W_UV"));
  EXPECT_THAT(RecomputedBuffers(*tensors, "megatron"), IsEmpty());

  std::erase_if(model.tensors, [](const Tensor& tensor) {
    return tensor.name.find("kv_b_proj") != std::string::npos;
  });
  const Result<FamilyTensors> without = FamilyTensors::Classify(model);
  ASSERT_TRUE(without) << ToString(without.error());
  EXPECT_THAT(RecomputedBuffers(*without, "vllm"), IsEmpty());
}

// A function other than the identity is held in a tensor's place; another dtype is not.
TEST(HeldOtherwise, FunctionsByTensor) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "nemotron_h", "torch_dtype": "bfloat16", "hidden_size": 8,
          "num_hidden_layers": 3, "hybrid_override_pattern": "M-M", "mamba_num_heads": 4,
          "mamba_head_dim": 3, "n_groups": 2, "ssm_state_size": 5, "conv_kernel": 4,
          "intermediate_size": 6, "vocab_size": 4})");
  ASSERT_TRUE(model) << ToString(model.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  EXPECT_THAT(HeldOtherwise(*tensors, "vllm"),
              ElementsAre(std::pair("backbone.layers.0.mixer.A_log", "-exp(x)"),
                          std::pair("backbone.layers.2.mixer.A_log", "-exp(x)")));
  EXPECT_THAT(HeldOtherwise(*tensors, "megatron"), IsEmpty());
  EXPECT_EQ(FunctionOf(*tensors, "vllm", Role::kMambaALog), StoredFunction::kNegativeExponential);
  EXPECT_EQ(FunctionOf(*tensors, "megatron", Role::kMambaALog), StoredFunction::kIdentity);
  EXPECT_EQ(FunctionOf(*tensors, "vllm", Role::kMambaD), StoredFunction::kIdentity);
}

}  // namespace
}  // namespace reshard
