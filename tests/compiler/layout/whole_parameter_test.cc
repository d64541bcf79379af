#include "compiler/layout/whole_parameter.h"

#include <string>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

Result<FamilyTensors> Classified(const Model& model) { return FamilyTensors::Classify(model); }

TEST(WholeParameter, ExpertsStackInOrder) {
  const Model model = ReferenceModel("tiny-moe");
  const Result<FamilyTensors> tensors = Classified(model);
  ASSERT_TRUE(tensors);
  const FamilyLayer& layer = tensors->layers().begin()->second;
  const auto stack = StackExperts(*tensors, layer, Role::kExpertDown, Kind::kWeight, "stack");
  ASSERT_TRUE(stack && *stack);
  const TensorIndex first = layer.experts.at(0)[Role::kExpertDown][Kind::kWeight];
  std::vector<std::int64_t> shape = tensors->tensor(first).shape;
  shape.insert(shape.begin(), tensors->expert_count());
  EXPECT_EQ((*stack)->block.shape(), shape);
  EXPECT_EQ((*stack)->name, "stack");
  EXPECT_FALSE(*StackExperts(*tensors, layer, Role::kExpertDown, Kind::kBias, "stack"));
}

TEST(WholeParameter, AListThatLacksExpertsIsRefused) {
  Model model = ReferenceModel("tiny-moe");
  std::erase_if(model.tensors, [](const Tensor& tensor) {
    return tensor.name == "model.layers.0.mlp.experts.3.up_proj.weight";
  });
  const Result<FamilyTensors> tensors = Classified(model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  const auto stack = StackExperts(*tensors, tensors->layers().at(0), Role::kExpertUp, Kind::kWeight,
                                  "stack of up");
  ASSERT_FALSE(stack);
  EXPECT_THAT(ToString(stack.error()), HasSubstr("stack of up would hold some parts only"));
}

TEST(WholeParameter, ExpertsOfTwoDtypesAreRefused) {
  Model model = ReferenceModel("tiny-moe");
  for (Tensor& tensor : model.tensors) {
    if (tensor.name == "model.layers.0.mlp.experts.3.up_proj.weight") tensor.dtype = DType::kF32;
  }
  const Result<FamilyTensors> tensors = Classified(model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  const auto stack = StackExperts(*tensors, tensors->layers().at(0), Role::kExpertUp, Kind::kWeight,
                                  "stack of up");
  ASSERT_FALSE(stack);
  EXPECT_THAT(ToString(stack.error()), HasSubstr("differ in shape or dtype"));
}

}  // namespace
}  // namespace reshard
