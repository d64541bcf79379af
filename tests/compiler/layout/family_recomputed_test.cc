#include "compiler/layout/family_recomputed.h"

#include <string>

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

}  // namespace
}  // namespace reshard
