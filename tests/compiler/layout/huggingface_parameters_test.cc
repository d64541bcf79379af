#include "compiler/layout/huggingface_parameters.h"

#include <algorithm>
#include <string>
#include <vector>

#include "family_test_model.h"
#include "foundation/strict_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> NamesOf(const std::vector<WholeParameter>& parameters) {
  std::vector<std::string> names;
  for (const WholeParameter& parameter : parameters) names.push_back(parameter.name);
  return names;
}

TEST(HuggingfaceParameters, PublishedAreAllTensors) {
  const Model model = ReferenceModel("deepseek-v3", 4);
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  ASSERT_TRUE(tensors);
  std::vector<std::string> names = NamesOf(PublishedParameters(*tensors));
  std::sort(names.begin(), names.end());
  std::vector<std::string> expected;
  for (const Tensor& tensor : model.tensors) expected.push_back(tensor.name);
  EXPECT_EQ(names, expected);
}

// FP8 experts: 256 of them, 2048 gate and 2048 up rows, 16 + 16 rows of scales.
TEST(HuggingfaceParameters, MemoryStacksExperts) {
  Model model = ReferenceModel("deepseek-v3", 4);
  for (Tensor& tensor : model.tensors) {
    if (tensor.name.ends_with(".mlp.gate.weight")) tensor.dtype = DType::kF32;
  }
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  ASSERT_TRUE(tensors);
  const auto parameters = MemoryParameters(*tensors);
  ASSERT_TRUE(parameters) << ToString(parameters.error());
  const auto shape_of = [&](const std::string& name) {
    for (const WholeParameter& parameter : *parameters) {
      if (parameter.name == name) return parameter.block.shape();
    }
    return std::vector<std::int64_t>{-1};
  };
  const std::string experts = "model.layers.3.mlp.experts.";
  EXPECT_EQ(shape_of(experts + "gate_up_proj"), (std::vector<std::int64_t>{256, 4096, 7168}));
  EXPECT_EQ(shape_of(experts + "gate_up_proj_scale_inv"), (std::vector<std::int64_t>{256, 32, 56}));
  EXPECT_EQ(shape_of(experts + "down_proj"), (std::vector<std::int64_t>{256, 7168, 2048}));
  EXPECT_EQ(shape_of(experts + "down_proj_scale_inv"), (std::vector<std::int64_t>{256, 56, 16}));
  const std::vector<std::string> names = NamesOf(*parameters);
  EXPECT_THAT(names, Contains("model.layers.3.mlp.shared_experts.up_proj.weight"));
  EXPECT_THAT(names, Not(Contains(experts + "0.gate_proj.weight")));
  // Layer 4 is the one of multi-token prediction here.
  EXPECT_THAT(names, Not(Contains("model.layers.4.enorm.weight")));
}

// mixtral's blocks have another name in memory.
TEST(HuggingfaceParameters, MemoryRenamesBlocks) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "mixtral", "torch_dtype": "bfloat16", "hidden_size": 4,
          "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
          "head_dim": 2, "vocab_size": 8, "num_local_experts": 2, "intermediate_size": 6})");
  ASSERT_TRUE(model) << ToString(model.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  const auto parameters = MemoryParameters(*tensors);
  ASSERT_TRUE(parameters) << ToString(parameters.error());
  EXPECT_THAT(NamesOf(*parameters), IsSupersetOf({"model.layers.0.mlp.gate.weight",
                                                  "model.layers.0.mlp.experts.gate_up_proj",
                                                  "model.layers.0.mlp.experts.down_proj"}));
}

TEST(HuggingfaceParameters, RoutersThatMemoryHoldsWiderAreRefused) {
  const Model model = ReferenceModel("deepseek-v3", 4);
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  ASSERT_TRUE(tensors);
  const auto parameters = MemoryParameters(*tensors);
  ASSERT_FALSE(parameters);
  EXPECT_THAT(ToString(parameters.error()), HasSubstr("model.layers.3.mlp.gate.weight is BF16, but "
                                                      "transformers 5 holds it as "
                                                      "F32"));
}

// 96 gate rows end inside a block of 128.
TEST(HuggingfaceParameters, ScalesThatGateAndUpWouldShareAreRefused) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "qwen3_moe", "torch_dtype": "bfloat16", "hidden_size": 128,
          "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2,
          "head_dim": 64, "vocab_size": 128, "num_experts": 2, "moe_intermediate_size": 96,
          "intermediate_size": 128,
          "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})");
  ASSERT_TRUE(model) << ToString(model.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  const auto parameters = MemoryParameters(*tensors);
  ASSERT_FALSE(parameters);
  EXPECT_THAT(ToString(parameters.error()),
              HasSubstr("model.layers.0.mlp.experts.gate_up_proj_scale_inv: "
                        "the 96 gate rows of an "
                        "expert end inside an FP8 block"));
}

TEST(HuggingfaceParameters, NamesAreOneOfTwo) {
  const auto read = [](const std::string& text) {
    const Result<JsonDocument> document = ParseJson(text, "job.json");
    return ReadHuggingfaceNames(JsonCursor(*document));
  };
  EXPECT_EQ(*read("{}"), HuggingfaceNames::kPublished);
  EXPECT_EQ(*read(R"({"names": "memory"})"), HuggingfaceNames::kMemory);
  EXPECT_THAT(ToString(read(R"({"names": "v5"})").error()),
              HasSubstr("unknown names 'v5'; known are 'published', 'memory'"));
}

}  // namespace
}  // namespace reshard
