#include "compiler/layout/huggingface_config.h"

#include <map>
#include <string>
#include <tuple>

#include "compiler/layout/model.h"
#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

struct Totals {
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
  bool operator==(const Totals&) const = default;
};

void PrintTo(const Totals& totals, std::ostream* out) {
  *out << totals.tensors << " tensors, " << totals.bytes << " bytes";
}

template <typename Kept>
Totals TotalsOf(const Model& model, const Kept& kept) {
  Totals totals;
  for (const Tensor& tensor : model.tensors) {
    if (!kept(tensor)) continue;
    ++totals.tensors;
    totals.bytes += TensorBytes(tensor);
  }
  return totals;
}

Totals TotalsOf(const Model& model) {
  return TotalsOf(model, [](const Tensor&) { return true; });
}

std::map<DType, std::int64_t> CountByDType(const Model& model) {
  std::map<DType, std::int64_t> counts;
  for (const Tensor& tensor : model.tensors) ++counts[tensor.dtype];
  return counts;
}

// The published files of DeepSeek-V3 hold 688,586,727,753 bytes: 129 a tensor more than the data,
// which is what a tensor's entry in a safetensors header takes.
TEST(HuggingfaceConfig, DeepSeekV3InFp8HasThePublishedTotals) {
  const Model model = ReferenceModel("deepseek-v3");
  EXPECT_EQ(TotalsOf(model), (Totals{91'991, 688'574'839'360}));
  EXPECT_EQ((688'586'727'753 - 688'574'839'360) / 91'991, 129);
  // 45,808 quantized weights with as many scales; 58 routers and that of layer 61 have a bias.
  const std::map<DType, std::int64_t> expected{
      {DType::kF8E4M3, 45'808}, {DType::kF32, 45'808 + 59}, {DType::kBF16, 316}};
  EXPECT_EQ(CountByDType(model), expected);
}

TEST(HuggingfaceConfig, Layer61OfDeepSeekV3IsTheOneOfMultiTokenPrediction) {
  const Model model = ReferenceModel("deepseek-v3");
  const auto of_layer_61 = [](const Tensor& tensor) {
    return tensor.name.starts_with("model.layers.61.");
  };
  EXPECT_EQ(TotalsOf(model, of_layer_61).tensors, 1'564);
  const auto not_of_layer_61 = [&](const Tensor& tensor) { return !of_layer_61(tensor); };
  EXPECT_EQ(TotalsOf(model, not_of_layer_61), (Totals{90'427, 673'150'611'808}));
  for (const char* name : {"embed_tokens.weight", "enorm.weight", "hnorm.weight", "eh_proj.weight",
                           "shared_head.norm.weight", "shared_head.head.weight"}) {
    EXPECT_TRUE(model.Find("model.layers.61." + std::string(name))) << name;
    EXPECT_FALSE(model.Find("model.layers.60." + std::string(name))) << name;
  }
}

// Without quantization_config: no scales, all BF16 but the F32 biases of the routers.
TEST(HuggingfaceConfig, DeepSeekV3InBf16HasThePublishedTotals) {
  const Model model = ReferenceModel("deepseek-v3-bf16");
  const auto kept = [](const Tensor& tensor) {
    return !tensor.name.starts_with("model.layers.61.");
  };
  EXPECT_EQ(TotalsOf(model, kept), (Totals{45'395, 1'342'052'868'096}));
}

TEST(HuggingfaceConfig, KimiK2HasThePublishedTotals) {
  const Model model = ReferenceModel("kimi-k2");
  EXPECT_EQ(TotalsOf(model), (Totals{139'583, 1'029'173'249'888}));
  const std::map<DType, std::int64_t> expected{
      {DType::kF8E4M3, 69'608}, {DType::kF32, 69'608 + 60}, {DType::kBF16, 307}};
  EXPECT_EQ(CountByDType(model), expected);
}

TEST(HuggingfaceConfig, QwenModelsHaveThePublishedTotals) {
  EXPECT_EQ(TotalsOf(ReferenceModel("qwen3-235b")), (Totals{36'945, 470'187'269'120}));
  EXPECT_EQ(TotalsOf(ReferenceModel("qwen3-30b")), (Totals{18'867, 61'064'245'248}));
  const Model tied = ReferenceModel("qwen3-4b");
  EXPECT_EQ(TotalsOf(tied), (Totals{398, 8'044'936'192}));
  EXPECT_FALSE(tied.Find("lm_head.weight"));
}

TEST(HuggingfaceConfig, ScalesCoverEdgeBlocks) {
  const Model model = ReferenceModel("deepseek-v3");
  // 576 rows are four blocks of 128 and a half, 7168 columns 56 blocks.
  const auto scale = model.Find("model.layers.0.self_attn.kv_a_proj_with_mqa.weight_scale_inv");
  ASSERT_TRUE(scale);
  const Tensor& tensor = model.tensors[static_cast<std::size_t>(*scale)];
  EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{5, 56}));
  EXPECT_EQ(tensor.dtype, DType::kF32);
}

TEST(HuggingfaceConfig, LlamaReadsBiasesTyingAndHeadDim) {
  const std::string fields =
      R"("model_type": "llama", "torch_dtype": "float16", "hidden_size": 64, "num_hidden_layers": 2,
         "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 100)";
  const Result<Model> plain = ModelOf("{" + fields + "}");
  ASSERT_TRUE(plain) << ToString(plain.error());
  // A layer: 2 norms, 4 of attention, 3 of the MLP; besides: embedding, norm, LM head.
  EXPECT_EQ(plain->tensors.size(), 2U * 9 + 3);
  EXPECT_EQ(plain->tensors.front().dtype, DType::kF16);
  // Without num_key_value_heads every head is one of its own.
  const auto key = plain->Find("model.layers.1.self_attn.k_proj.weight");
  ASSERT_TRUE(key);
  EXPECT_EQ(plain->tensors[static_cast<std::size_t>(*key)].shape,
            (std::vector<std::int64_t>{64, 64}));

  const Result<Model> biased = ModelOf("{" + fields + R"(, "head_dim": 32, "attention_bias": true,
      "mlp_bias": true, "tie_word_embeddings": true, "num_key_value_heads": 2})");
  ASSERT_TRUE(biased) << ToString(biased.error());
  // Seven biases more a layer, no LM head.
  EXPECT_EQ(biased->tensors.size(), 2U * (9 + 7) + 2);
  const auto output = biased->Find("model.layers.0.self_attn.o_proj.weight");
  ASSERT_TRUE(output);
  EXPECT_EQ(biased->tensors[static_cast<std::size_t>(*output)].shape,
            (std::vector<std::int64_t>{64, 4 * 32}));
}

TEST(HuggingfaceConfig, ModulesToNotConvertStayInTheModelsDtype) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 256,
          "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
          "intermediate_size": 512, "vocab_size": 64,
          "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128],
             "modules_to_not_convert": ["o_proj", "model.layers.0.mlp"]}})");
  ASSERT_TRUE(model) << ToString(model.error());
  const auto scaled = [&](const std::string& weight) {
    return model->Find("model.layers.0." + weight + ".weight_scale_inv").has_value();
  };
  EXPECT_TRUE(scaled("self_attn.q_proj"));
  EXPECT_FALSE(scaled("self_attn.o_proj"));
  EXPECT_FALSE(scaled("mlp.gate_proj"));
}

TEST(HuggingfaceConfig, BadConfigsAreRefusedWithPlaceAndRemedy) {
  const auto error_of = [](const std::string& json) {
    const Result<Model> model = ModelOf(json);
    return model ? std::string("none") : ToString(model.error());
  };
  EXPECT_THAT(error_of(R"({"model_type": "qwen3_mo", "torch_dtype": "bfloat16"})"),
              HasSubstr("unknown model_type 'qwen3_mo'; did you mean 'qwen3_moe'?"));
  const std::string start = R"({"model_type": "qwen3", "torch_dtype": "bfloat16")";
  EXPECT_THAT(error_of(start + "}"), HasSubstr("give config.num_hidden_layers"));
  EXPECT_THAT(error_of(R"({"model_type": "qwen3"})"), HasSubstr("give torch_dtype"));
  EXPECT_THAT(error_of(R"({"model_type": "qwen3", "dtype": "bfloat17"})"),
              HasSubstr("unknown dtype 'bfloat17'"));
  EXPECT_THAT(error_of(start + R"(, "quantization_config": {"quant_method": "awq"}})"),
              HasSubstr("quantization 'awq'"));
  EXPECT_THAT(error_of(start + R"(, "quantization_config": {"quant_method": "fp8"}})"),
              HasSubstr("without weight_block_size"));
  EXPECT_THAT(error_of(start + R"(, "num_hidden_layers": 1000000000000})"),
              HasSubstr("1000000000000 layers"));
}

}  // namespace
}  // namespace reshard
