// Whatever the degrees: the ranks of a side together hold every element, and no parameter holds two
// elements in one place. Painted element by element, without the algebra that built the layouts.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/layout/megatron_layout.h"
#include "compiler/layout/vllm_layout.h"
#include "family_test_model.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

std::int64_t ElementCount(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

// Calls `visit(tensor element, parameter element)` for all elements of a region, both row-major.
template <typename Visit>
void VisitElements(const std::vector<std::int64_t>& shape, const Region& region,
                   const Visit& visit) {
  std::vector<std::int64_t> at(shape.size(), 0);
  while (true) {
    std::int64_t in_tensor = 0;
    std::int64_t in_parameter = region.offset;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      ASSERT_LT(region.begin[dim] + at[dim], shape[dim]);
      in_tensor = in_tensor * shape[dim] + region.begin[dim] + at[dim];
      in_parameter += at[dim] * region.stride[dim];
    }
    visit(in_tensor, in_parameter);
    std::size_t dim = shape.size();
    while (dim > 0 && ++at[dim - 1] == region.extent[dim - 1]) at[--dim] = 0;
    if (dim == 0) return;
  }
}

void ExpectCovered(const Model& model, const GroupLayout& group, const std::string& what) {
  std::vector<std::vector<bool>> held;
  for (const Tensor& tensor : model.tensors) held.emplace_back(ElementCount(tensor.shape), false);
  for (const RankLayout& layout : group.layouts) {
    std::vector<std::vector<bool>> filled;
    for (const Parameter& parameter : layout.parameters) {
      filled.emplace_back(ElementCount(parameter.shape), false);
    }
    for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
      const Region region = layout.regions[r];
      const auto tensor = static_cast<std::size_t>(region.tensor);
      const auto parameter = static_cast<std::size_t>(region.parameter);
      VisitElements(model.tensors[tensor].shape, region,
                    [&](std::int64_t in_tensor, std::int64_t in_parameter) {
                      held[tensor][static_cast<std::size_t>(in_tensor)] = true;
                      ASSERT_GE(in_parameter, 0) << what;
                      ASSERT_LT(in_parameter, std::ssize(filled[parameter]))
                          << what << " " << layout.parameters[parameter].name;
                      ASSERT_FALSE(filled[parameter][static_cast<std::size_t>(in_parameter)])
                          << what << " " << layout.parameters[parameter].name;
                      filled[parameter][static_cast<std::size_t>(in_parameter)] = true;
                    });
    }
  }
  for (std::size_t t = 0; t < held.size(); ++t) {
    for (std::size_t element = 0; element < held[t].size(); ++element) {
      ASSERT_TRUE(held[t][element])
          << what << ": nobody holds element " << element << " of " << model.tensors[t].name;
    }
  }
}

// Qwen3-MoE-like with a dense layer, two key-value heads, a vocabulary that needs padding.
const std::string kGrouped =
    R"({"model_type": "qwen3_moe", "torch_dtype": "bfloat16", "hidden_size": 8,
        "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 2,
        "num_experts": 4, "moe_intermediate_size": 8, "intermediate_size": 16,
        "mlp_only_layers": [1], "vocab_size": 72, "tie_word_embeddings": false})";
// Latent attention, shared experts, FP8 in blocks of [2, 2].
const std::string kLatent =
    R"({"model_type": "deepseek_v3", "torch_dtype": "bfloat16", "hidden_size": 16,
        "num_hidden_layers": 4, "num_attention_heads": 8, "q_lora_rank": 6, "kv_lora_rank": 4,
        "qk_nope_head_dim": 2, "qk_rope_head_dim": 2, "v_head_dim": 2, "intermediate_size": 32,
        "first_k_dense_replace": 1, "moe_intermediate_size": 16, "n_routed_experts": 4,
        "n_shared_experts": 1, "n_group": 2, "vocab_size": 64,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [2, 2]}})";
const std::string kTied =
    R"({"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 8,
        "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 4,
        "intermediate_size": 16, "vocab_size": 128, "tie_word_embeddings": true})";

std::string Number(std::int64_t value) { return std::to_string(value); }

// Every combination of small degrees on 16 ranks that the adapter takes; the test counts them, so
// that refusing all would fail it.
TEST(Coverage, MegatronRanksHoldEveryElement) {
  for (const std::string& json : {kGrouped, kLatent, kTied}) {
    const Result<Model> model = ModelOf(json);
    ASSERT_TRUE(model) << ToString(model.error());
    int taken = 0;
    for (const std::int64_t tensor : {1, 2, 4, 8}) {
      for (const std::int64_t pipeline : {1, 2, 4}) {
        for (const std::int64_t expert : {1, 2, 4}) {
          for (const std::int64_t expert_tensor : {1, 2, 4}) {
            const std::string fields = R"({"tensor": )" + Number(tensor) + R"(, "pipeline": )" +
                                       Number(pipeline) + R"(, "expert": )" + Number(expert) +
                                       R"(, "expertTensor": )" + Number(expert_tensor) + "}";
            const Result<GroupLayout> group = Build(BuildMegatronLayout, *model, fields, 16);
            if (!group) continue;
            ++taken;
            ExpectCovered(*model, *group, fields);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
    // With one stage 4 tensor degrees times 9 pairs of expert degrees divide 16 ranks; with two 4
    // times 8, not 4 x 4; with four 3, not 8, times the 6 pairs of a product up to 4.
    EXPECT_EQ(taken, 4 * 9 + 4 * 8 + 3 * 6);
  }
}

TEST(Coverage, VllmRanksHoldEveryElement) {
  for (const auto& [json, expected] :
       {std::pair{kGrouped, 90}, std::pair{kLatent, 90}, std::pair{kTied, 92}}) {
    const Result<Model> model = ModelOf(json);
    ASSERT_TRUE(model) << ToString(model.error());
    int taken = 0;
    for (const std::int64_t tensor : {1, 2, 4, 8}) {
      for (const std::int64_t pipeline : {1, 2, 3}) {
        for (const std::int64_t data : {1, 2}) {
          for (const char* experts :
               {"", R"(, "expertParallel": true)",
                R"(, "expertParallel": true, "expertPlacement": "roundRobin")",
                R"(, "expertParallel": true, "redundantExperts": 12)"}) {
            const std::string fields = R"({"tensor": )" + Number(tensor) + R"(, "pipeline": )" +
                                       Number(pipeline) + R"(, "data": )" + Number(data) + experts +
                                       "}";
            const Result<GroupLayout> group = Build(BuildVllmLayout, *model, fields, 48);
            if (!group) continue;
            ++taken;
            ExpectCovered(*model, *group, fields);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
    // Of 24 engines all but 8 x 2 x 2 divide 48 ranks, each with 4 ways to place experts; those of
    // 8 x 2 ranks cannot cut 8 rows, nor blocks of 2 out of 16, without expert parallelism.
    EXPECT_EQ(taken, expected) << json;
  }
}

}  // namespace
}  // namespace reshard
