#include "compiler/layout/huggingface_layout.h"

#include <array>
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

const std::string kSmallMoe =
    R"({"model_type": "qwen3_moe", "torch_dtype": "bfloat16", "hidden_size": 6,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 2,
        "vocab_size": 10, "num_experts": 3, "moe_intermediate_size": 4, "intermediate_size": 8,
        "mlp_only_layers": [0]})";

GroupLayout Whole(const Model& model, const std::string& fields) {
  return Built(BuildHuggingfaceLayout, model, fields, 1);
}

// Experts of layer 1: gate rows, then up rows, expert by expert.
TEST(HuggingfaceLayout, MemoryStacksExperts) {
  const Result<Model> model = ModelOf(kSmallMoe);
  ASSERT_TRUE(model) << ToString(model.error());
  const GroupLayout group = Whole(*model, R"({"names": "memory"})");
  const std::string name = "model.layers.1.mlp.experts.";
  EXPECT_THAT(ParameterText(*model, OfRank(group, 0), name + "gate_up_proj", name),
              ElementsAre("BF16 [3, 8, 6]", "[0, 0, 0] 0.gate_proj.weight [0:4, 0:6]",
                          "[0, 4, 0] 0.up_proj.weight [0:4, 0:6]",
                          "[1, 0, 0] 1.gate_proj.weight [0:4, 0:6]",
                          "[1, 4, 0] 1.up_proj.weight [0:4, 0:6]",
                          "[2, 0, 0] 2.gate_proj.weight [0:4, 0:6]",
                          "[2, 4, 0] 2.up_proj.weight [0:4, 0:6]"));
  EXPECT_THAT(ParameterText(*model, OfRank(group, 0), name + "down_proj", name),
              ElementsAre("BF16 [3, 6, 4]", "[0, 0, 0] 0.down_proj.weight [0:6, 0:4]",
                          "[1, 0, 0] 1.down_proj.weight [0:6, 0:4]",
                          "[2, 0, 0] 2.down_proj.weight [0:6, 0:4]"));
  EXPECT_THAT(ParameterNames(OfRank(group, 0)), Contains("model.layers.0.mlp.gate_proj.weight"));
  ExpectComplete(*model, group, std::array<std::int64_t, 1>{0});
}

TEST(HuggingfaceLayout, PublishedNamesNeedNoFamily) {
  const Result<Model> model = ModelOf(
      R"({"a": {"shape": [], "dtype": "F32"}, "b": {"shape": [2, 0], "dtype": "U8"},
                  "c": {"shape": [2, 3, 4], "dtype": "BF16"}})");
  ASSERT_TRUE(model);
  const GroupLayout group = Whole(*model, "{}");
  EXPECT_THAT(ParameterNames(OfRank(group, 0)), ElementsAre("a", "b", "c"));
  ExpectComplete(*model, group, std::array<std::int64_t, 1>{0});
}

TEST(HuggingfaceLayout, MoreThanOneRankIsRefused) {
  const Result<Model> model = ModelOf(kSmallMoe);
  ASSERT_TRUE(model);
  const auto group = Build(BuildHuggingfaceLayout, *model, "{}", 2);
  ASSERT_FALSE(group);
  EXPECT_THAT(ToString(group.error()), HasSubstr("one GPU holds the whole model, but the group has "
                                                 "2; use fsdp"));
}

}  // namespace
}  // namespace reshard
