#include "compiler/layout/family_tensors.h"

#include <string>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

Result<FamilyTensors> Classify(const Model& model) { return FamilyTensors::Classify(model); }

std::string ErrorOf(const Model& model) {
  const Result<FamilyTensors> tensors = Classify(model);
  return tensors ? "none" : ToString(tensors.error());
}

Tensor& TensorOf(Model& model, const std::string& name) {
  return model.tensors[static_cast<std::size_t>(model.Find(name).value())];
}

TEST(FamilyTensors, PlacesEveryTensor) {
  const Model model = ReferenceModel("deepseek-v3", 4);
  const Result<FamilyTensors> tensors = Classify(model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  EXPECT_EQ(tensors->layer_count(), 4);
  EXPECT_EQ(tensors->mtp_layer_count(), 1);
  EXPECT_EQ(tensors->expert_count(), 256);
  EXPECT_FALSE(tensors->tied());
  const auto name_of = [&](TensorIndex index) { return tensors->tensor(index).name; };
  EXPECT_EQ(name_of((*tensors)[Role::kLmHead][Kind::kWeight]), "lm_head.weight");
  const FamilyLayer& layer = tensors->layers().at(3);
  EXPECT_FALSE(layer.mtp);
  EXPECT_TRUE(tensors->layers().at(4).mtp);
  EXPECT_EQ(layer.experts.size(), 256U);
  EXPECT_EQ(name_of(layer.experts.at(200)[Role::kExpertDown][Kind::kScale]),
            "model.layers.3.mlp.experts.200.down_proj.weight_scale_inv");
  EXPECT_EQ(name_of(layer[Role::kMlaKeyValueUp][Kind::kWeight]),
            "model.layers.3.self_attn.kv_b_proj.weight");
  EXPECT_FALSE(layer[Role::kMlpGate].held());
  EXPECT_TRUE(tensors->layers().at(2)[Role::kMlpGate].held());
}

// A bare list tells, by its shapes: q_norm the head dim, and with it q and k the heads.
TEST(FamilyTensors, ABareListTellsWhatItsShapesTell) {
  const Model model = BareList(ReferenceModel("tiny-moe"));
  const Result<FamilyTensors> tensors = Classify(model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  EXPECT_EQ(tensors->layer_count(), 5);
  EXPECT_EQ(tensors->expert_count(), 16);
  EXPECT_EQ(tensors->Field("head_dim").value_or(0), 64);
  EXPECT_EQ(tensors->Field("num_attention_heads").value_or(0), 8);
  EXPECT_EQ(tensors->Field("num_key_value_heads").value_or(0), 2);
}

// Latent attention: kv_a has 512 + 64 rows and its norm 512, so rope is 64; q_b - kv_b + o counts
// heads * (nope + rope) - heads * (nope + v) + heads * v = heads * rope = 24576 - 32768 + 16384.
TEST(FamilyTensors, ABareListOfLatentAttentionTellsItsHeads) {
  const Model model = BareList(ReferenceModel("deepseek-v3", 4));
  const Result<FamilyTensors> tensors = Classify(model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  EXPECT_EQ(tensors->layer_count(), 4);  // layer 4 has enorm: it is of multi-token prediction
  EXPECT_EQ(tensors->mtp_layer_count(), 1);
  EXPECT_EQ(tensors->Field("qk_rope_head_dim").value_or(0), 64);
  EXPECT_EQ(tensors->Field("num_attention_heads").value_or(0), 128);
  EXPECT_EQ(tensors->Field("v_head_dim").value_or(0), 128);
  EXPECT_EQ(tensors->Field("qk_nope_head_dim").value_or(0), 128);
}

TEST(FamilyTensors, ABareListWithoutLmHeadIsTied) {
  const Model tied = BareList(ReferenceModel("qwen3-4b"));
  ASSERT_TRUE(Classify(tied));
  EXPECT_TRUE(Classify(tied)->tied());
  const Model untied = BareList(ReferenceModel("tiny-moe"));
  EXPECT_FALSE(Classify(untied)->tied());
}

TEST(FamilyTensors, ShapesThatContradictTheConfigAreNamed) {
  Model model = ReferenceModel("qwen3-4b");
  TensorOf(model, "model.layers.7.self_attn.k_proj.weight").shape = {512, 2560};
  EXPECT_THAT(ErrorOf(model), HasSubstr("model.layers.7.self_attn.k_proj.weight is [512, 2560], "
                                        "but family qwen3 has [1024, 2560]"));
  // Without a config the first layer is what others are held against.
  EXPECT_THAT(ErrorOf(BareList(model)), HasSubstr("model.layers.7.self_attn.k_proj.weight is"));
  Model flat = ReferenceModel("qwen3-4b");
  TensorOf(flat, "model.norm.weight").shape = {2560, 1};
  EXPECT_THAT(ErrorOf(flat), HasSubstr("model.norm.weight is [2560, 1]"));
}

TEST(FamilyTensors, ScalesThatDoNotFitTheirBlocksAreNamed) {
  Model model = ReferenceModel("deepseek-v3", 4);
  TensorOf(model, "model.layers.0.self_attn.o_proj.weight_scale_inv").shape = {112, 256};
  const std::string error = ErrorOf(model);
  EXPECT_THAT(error, HasSubstr("model.layers.0.self_attn.o_proj.weight_scale_inv is [112, 256]"));
  EXPECT_THAT(error, HasSubstr("give config.quantization_config.weight_block_size"));

  Model alone = BareList(ReferenceModel("deepseek-v3", 4));
  std::erase_if(alone.tensors, [](const Tensor& tensor) {
    return tensor.name == "model.layers.0.self_attn.o_proj.weight";
  });
  EXPECT_THAT(ErrorOf(alone), HasSubstr("o_proj.weight_scale_inv has no weight beside it"));
}

TEST(FamilyTensors, OtherBlockSizesComeFromTheConfig) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 64,
          "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
          "head_dim": 32, "intermediate_size": 64, "vocab_size": 64,
          "quantization_config": {"quant_method": "fp8", "weight_block_size": [32, 16]}})");
  ASSERT_TRUE(model) << ToString(model.error());
  const Result<FamilyTensors> tensors = Classify(*model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  EXPECT_EQ(tensors->scale_block().rows, 32);
  EXPECT_EQ(tensors->scale_block().columns, 16);
}

TEST(FamilyTensors, IndicesBeyondTheConfigAreRefused) {
  Model layers = ReferenceModel("qwen3-4b");
  *layers.config.root.Find("num_hidden_layers") = JsonValue(35);
  EXPECT_THAT(ErrorOf(layers), HasSubstr("layer 35 is listed, but config says 35 layers"));
  Model experts = ReferenceModel("tiny-moe");
  *experts.config.root.Find("num_experts") = JsonValue(8);
  EXPECT_THAT(ErrorOf(experts), HasSubstr("expert 15 is listed, but config says 8 experts"));
}

// A huge index costs no memory and is refused.
TEST(FamilyTensors, HugeIndicesAreRefused) {
  const Result<Model> model = ModelOf(
      R"({"tensors": {"model.layers.1000000000000.self_attn.q_norm.weight":
                       {"shape": [128], "dtype": "BF16"}}, "family": "qwen3"})");
  ASSERT_TRUE(model) << ToString(model.error());
  EXPECT_THAT(ErrorOf(*model), HasSubstr("1000000000001 layers; expected 0 to 100000"));
}

TEST(FamilyTensors, UnknownTensorsAreNamed) {
  Model model = ReferenceModel("qwen3-4b");
  TensorOf(model, "model.layers.7.self_attn.k_proj.weight").name =
      "model.layers.7.self_attn.kproj.weight";
  EXPECT_THAT(ErrorOf(model),
              HasSubstr("family qwen3 has no tensor model.layers.7.self_attn.kproj.weight"));
}

}  // namespace
}  // namespace reshard
