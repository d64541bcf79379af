#include "compiler/layout/family_views.h"

#include <string>

#include "compiler/layout/model_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

const std::string kOss =
    R"({"model_type": "gpt_oss", "torch_dtype": "bfloat16", "hidden_size": 3,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2,
        "intermediate_size": 2, "num_local_experts": 2, "vocab_size": 4, "attention_bias": true})";

// Gate and up, weight and bias, of each of two layers: the last dim, 4 wide, is two columns of two.
TEST(FamilyViewsTest, AlternatingColumnsAreSeenByTwos) {
  Model model = ModelOf(kOss);
  model.views = ViewsOfFamily(model);
  ASSERT_EQ(model.views.size(), 4U);
  const TensorIndex weight = *model.Find("model.layers.1.mlp.experts.gate_up_proj");
  const TensorIndex bias = *model.Find("model.layers.1.mlp.experts.gate_up_proj_bias");
  EXPECT_EQ(model.views.at(weight), (TensorView{.dim = 2, .inner = 2}));
  EXPECT_EQ(model.views.at(bias), (TensorView{.dim = 1, .inner = 2}));
  EXPECT_EQ(ViewedTensor(model, weight).shape, (std::vector<std::int64_t>{2, 3, 2, 2}));
  const TensorIndex down = *model.Find("model.layers.1.mlp.experts.down_proj");
  EXPECT_EQ(ViewedTensor(model, down), model.tensors[static_cast<std::size_t>(down)]);
}

TEST(FamilyViewsTest, OtherModelsAreSeenAsListed) {
  EXPECT_TRUE(ViewsOfFamily(ModelOf(R"({"some": {"shape": [4, 4], "dtype": "BF16"}})")).empty());
  EXPECT_TRUE(
      ViewsOfFamily(ModelOf(
                        R"({"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 8,
                      "num_hidden_layers": 1, "num_attention_heads": 2, "head_dim": 4,
                      "num_key_value_heads": 2, "intermediate_size": 4, "vocab_size": 4})"))
          .empty());
}

}  // namespace
}  // namespace reshard
