#include "compiler/layout/fsdp_layout.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "layout_properties.h"

namespace reshard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

GroupLayout Fsdp(const Model& model, const std::string& fields, std::int64_t rank_count) {
  return Built(BuildFsdpLayout, model, fields, rank_count);
}

std::string ErrorOf(const Model& model, const std::string& fields, std::int64_t rank_count) {
  return RefusalOf(BuildFsdpLayout, model, fields, rank_count);
}

// Uneven everywhere: 11 rows of vocabulary, 3 experts' worth of rows that no
// small degree divides.
const std::string kSmallMoe =
    R"({"model_type": "qwen3_moe", "torch_dtype": "bfloat16", "hidden_size": 7,
        "num_hidden_layers": 4, "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 3,
        "vocab_size": 11, "num_experts": 4, "moe_intermediate_size": 5, "intermediate_size": 9,
        "mlp_only_layers": [0], "tie_word_embeddings": false})";
const std::string kSmallDeepSeek =
    R"({"model_type": "deepseek_v3", "torch_dtype": "bfloat16", "hidden_size": 7,
        "num_hidden_layers": 4, "num_nextn_predict_layers": 1, "num_attention_heads": 4,
        "q_lora_rank": 5, "kv_lora_rank": 4, "qk_nope_head_dim": 3, "qk_rope_head_dim": 2,
        "v_head_dim": 3, "intermediate_size": 9, "vocab_size": 11, "first_k_dense_replace": 1,
        "n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 5})";

// Qwen3-4B, shard 4 over tensor 2, rank 5 = (2, 1): of 4096 rows of q_proj
// tensor rank 1 has the second half, of that FSDP rank 2 the third quarter:
// 2048 + 1024. Of 9728 columns of down_proj the second half, of its 2560 rows
// the third quarter.
TEST(FsdpLayout, TensorCutThenShard) {
  const Model model = ReferenceModel("qwen3-4b", 1);
  const GroupLayout group = Fsdp(model, R"({"tensor": 2})", 8);
  const std::string name = "model.layers.0.";
  EXPECT_THAT(
      ParameterText(model, OfRank(group, 5), name + "self_attn.q_proj.weight", name),
      ElementsAre("BF16 [512, 2560]", "[0, 0] self_attn.q_proj.weight [3072:3584, 0:2560]"));
  EXPECT_THAT(
      ParameterText(model, OfRank(group, 5), name + "mlp.down_proj.weight", name),
      ElementsAre("BF16 [640, 4864]", "[0, 0] mlp.down_proj.weight [1280:1920, 4864:9728]"));
  EXPECT_THAT(ParameterText(model, OfRank(group, 5), name + "self_attn.q_norm.weight", name),
              ElementsAre("BF16 [32]", "[0] self_attn.q_norm.weight [64:96]"));
  // 151936 / 2 / 4 = 18992.
  EXPECT_THAT(ParameterText(model, OfRank(group, 5), "model.embed_tokens.weight"),
              ElementsAre("BF16 [18992, 2560]",
                          "[0, 0] model.embed_tokens.weight [113952:132944, 0:2560]"));
  EXPECT_THAT(ParameterNames(OfRank(group, 5)), Not(Contains("lm_head.weight")));
}

// HSDP: the ranks of the second replica hold what those of the first do.
TEST(FsdpLayout, ReplicasShareLayouts) {
  const Model model = ReferenceModel("qwen3-4b", 1);
  const GroupLayout group = Fsdp(model, R"({"replicate": 2})", 8);
  EXPECT_EQ(group.layouts.size(), 4U);
  EXPECT_EQ(group.layout_of_rank[1], group.layout_of_rank[5]);
}

// Stacks of four experts at expert 2: ranks of expert rank 1 have 2 and 3, FSDP
// deals them out.
TEST(FsdpLayout, StacksOfExpertsInMemory) {
  const Model model = Of(kSmallMoe);
  const GroupLayout group = Fsdp(model, R"({"expert": 2, "names": "memory"})", 4);
  const std::string name = "model.layers.1.mlp.experts.";
  // Rank 3 is expert rank 1, expert shard 1: expert 3 alone.
  EXPECT_THAT(ParameterText(model, OfRank(group, 3), name + "gate_up_proj", name),
              ElementsAre("BF16 [1, 10, 7]", "[0, 0, 0] 3.gate_proj.weight [0:5, 0:7]",
                          "[0, 5, 0] 3.up_proj.weight [0:5, 0:7]"));
  // Without expert ranks tensor parallelism cuts gate rows and up rows each: 3
  // and 2 of five.
  const GroupLayout cut = Fsdp(model, R"({"tensor": 2, "names": "memory"})", 4);
  EXPECT_THAT(ParameterText(model, OfRank(cut, 3), name + "gate_up_proj", name),
              ElementsAre("BF16 [2, 4, 7]", "[0, 0, 0] 2.gate_proj.weight [3:5, 0:7]",
                          "[0, 2, 0] 2.up_proj.weight [3:5, 0:7]",
                          "[1, 0, 0] 3.gate_proj.weight [3:5, 0:7]",
                          "[1, 2, 0] 3.up_proj.weight [3:5, 0:7]"));
  EXPECT_THAT(ParameterText(model, OfRank(cut, 3), name + "down_proj", name),
              ElementsAre("BF16 [2, 7, 2]", "[0, 0, 0] 2.down_proj.weight [0:7, 3:5]",
                          "[1, 0, 0] 3.down_proj.weight [0:7, 3:5]"));
}

// llama 4's stacks are input-major, gate columns then up columns: of eight, tensor rank 1 of 2 has
// columns 2, 3, 6, 7, and of down rows 2, 3. Two experts over one FSDP rank.
TEST(FsdpLayout, StacksByInput) {
  const Model model = Of(R"({"tensors": {
      "model.layers.0.feed_forward.experts.down_proj": {"shape": [2, 4, 3], "dtype": "BF16"},
      "model.layers.0.feed_forward.experts.gate_up_proj": {"shape": [2, 3, 8], "dtype": "BF16"}},
      "family": "llama4", "config": {"num_hidden_layers": 1, "num_local_experts": 2,
                                     "hidden_size": 3, "intermediate_size": 4}})");
  const GroupLayout group = Fsdp(model, R"({"tensor": 2})", 2);
  const std::string name = "model.layers.0.feed_forward.experts.";
  EXPECT_THAT(ParameterText(model, OfRank(group, 1), name + "gate_up_proj", name),
              ElementsAre("BF16 [2, 3, 4]", "[0, 0, 0] gate_up_proj [0:2, 0:3, 2:4]",
                          "[0, 0, 2] gate_up_proj [0:2, 0:3, 6:8]"));
  EXPECT_THAT(ParameterText(model, OfRank(group, 1), name + "down_proj", name),
              ElementsAre("BF16 [2, 2, 3]", "[0, 0, 0] down_proj [0:2, 2:4, 0:3]"));
  // Whole experts over expert ranks.
  const GroupLayout spread = Fsdp(model, R"({"tensor": 2, "expert": 2})", 2);
  EXPECT_THAT(ParameterText(model, OfRank(spread, 1), name + "down_proj", name),
              ElementsAre("BF16 [1, 4, 3]", "[0, 0, 0] down_proj [1:2, 0:4, 0:3]"));
}

// FSDP alone cuts whatever there is; how tensor parallelism cuts a delta net is not known.
TEST(FsdpLayout, MixersAreCutByFsdpAlone) {
  const Model model = Of(R"({"tensors": {
      "model.layers.0.linear_attn.A_log": {"shape": [4], "dtype": "BF16"}},
      "family": "qwen3_next", "config": {"num_hidden_layers": 1, "linear_num_value_heads": 4}})");
  EXPECT_THAT(
      ParameterText(model, OfRank(Fsdp(model, "{}", 3), 1), "model.layers.0.linear_attn.A_log"),
      ElementsAre("BF16 [2]", "[0] model.layers.0.linear_attn.A_log [2:4]"));
  EXPECT_THAT(ErrorOf(model, R"({"tensor": 2})", 2),
              HasSubstr("model.layers.0.linear_attn.A_log: how tensor parallelism cuts"));
}

TEST(FsdpLayout, BuffersAreWholeOnEveryRank) {
  const Model model = Of(kSmallDeepSeek);
  const GroupLayout group = Fsdp(model, "{}", 4);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(ParameterText(model, OfRank(group, rank),
                            "model.layers.1.mlp.gate.e_score_correction_bias")[0],
              "F32 [4]");
  }
  EXPECT_THAT(ParameterNames(OfRank(group, 0)), Not(Contains("model.layers.4.enorm.weight")));
}

TEST(FsdpLayout, StagesAreEvenOrGiven) {
  const Model model = ReferenceModel("qwen3-4b", 3);
  EXPECT_THAT(ErrorOf(model, R"({"pipeline": 2})", 2),
              HasSubstr("3 layers do not divide by 2 stages; give layersPerStage"));
  const GroupLayout group = Fsdp(model, R"({"pipeline": 2, "layersPerStage": [2, 1]})", 2);
  EXPECT_THAT(ParameterNames(OfRank(group, 0)), Contains("model.layers.1.input_layernorm.weight"));
  EXPECT_THAT(ParameterNames(OfRank(group, 1)), Contains("model.layers.2.input_layernorm.weight"));
  // Tied: a copy of the embedding on the last stage.
  EXPECT_EQ(ParameterText(model, OfRank(group, 1), "lm_head.weight")[1],
            "[0, 0] model.embed_tokens.weight [0:151936, 0:2560]");
  EXPECT_THAT(ParameterNames(OfRank(group, 1)), Not(Contains("model.embed_tokens.weight")));
}

// A tensor list of no known family, cut by FSDP alone.
TEST(FsdpLayout, UnknownTensorsAreCutByRows) {
  const Model model = Of(R"({"x.a": {"shape": [5, 2], "dtype": "F32"},
                             "x.b": {"shape": [2], "dtype": "F16"}})");
  const GroupLayout group = Fsdp(model, "{}", 4);
  EXPECT_THAT(ParameterText(model, OfRank(group, 2), "x.a"),
              ElementsAre("F32 [1, 2]", "[0, 0] x.a [4:5, 0:2]"));
  EXPECT_THAT(ParameterText(model, OfRank(group, 3), "x.a"), ElementsAre("F32 [0, 2]"));
  EXPECT_THAT(ErrorOf(model, R"({"tensor": 2})", 4), HasSubstr("family"));
}

TEST(FsdpLayout, WhatIsNotKnownIsRefusedByName) {
  const Model fp8 = ReferenceModel("deepseek-v3", 4);
  EXPECT_THAT(ErrorOf(fp8, R"({"tensor": 2})", 4),
              HasSubstr("weight_scale_inv: block scales under tensor parallelism are not "
                        "supported"));
  EXPECT_THAT(ErrorOf(fp8, R"({"dp": 2})", 4), HasSubstr("unknown field 'dp'"));
}

// How often an element of a tensor is held by all ranks of a group: by each
// replica, by each tensor rank where tensor parallelism does not cut it, by
// each shard where FSDP does not.
int ExpectedCopies(const std::string& name, std::int64_t replicate, std::int64_t shards,
                   std::int64_t tensor, std::int64_t expert) {
  const auto has = [&](const char* piece) { return name.find(piece) != std::string::npos; };
  if (has("e_score_correction_bias")) return static_cast<int>(replicate * shards * tensor);
  const bool is_expert = has(".experts.");
  const bool whole = has("norm") || has("mlp.gate.weight") || has("q_a_proj") || has("kv_a_proj");
  if (is_expert && expert > 1) return static_cast<int>(replicate);
  return static_cast<int>(whole ? replicate * tensor : replicate);
}

// Random degrees over two families in both name generations: every element is
// held exactly as often as the degrees say, and no rank declares an element of
// a parameter twice.
TEST(FsdpLayout, EveryElementIsHeldAsOftenAsTheDegreesSay) {
  constexpr unsigned kSeed = 20261130;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  const auto pick = [&](std::vector<std::int64_t> values) {
    return values[random() % values.size()];
  };
  Model memory_deepseek = Of(kSmallDeepSeek);
  for (Tensor& tensor : memory_deepseek.tensors) {
    if (tensor.name.ends_with(".mlp.gate.weight")) tensor.dtype = DType::kF32;
  }
  const std::array models{Of(kSmallMoe), memory_deepseek};
  for (int round = 0; round < 40; ++round) {
    const Model& model = models.at(random() % models.size());
    const std::int64_t pipeline = pick({1, 2, 4});
    const std::int64_t replicate = pick({1, 2});
    const std::int64_t shard = pick({1, 2, 3, 4});
    const std::int64_t context = pick({1, 2});
    const std::int64_t tensor = pick({1, 2, 3});
    const std::int64_t stage = shard * context * tensor;
    const std::int64_t expert = pick({1, 2, 4});
    if (stage % expert != 0) continue;
    const std::int64_t ranks = pipeline * replicate * stage;
    const std::string fields =
        "{\"pipeline\": " + std::to_string(pipeline) +
        ", \"replicate\": " + std::to_string(replicate) + ", \"shard\": " + std::to_string(shard) +
        ", \"context\": " + std::to_string(context) + ", \"tensor\": " + std::to_string(tensor) +
        ", \"expert\": " + std::to_string(expert) +
        (round % 2 == 0 ? ", \"names\": \"memory\"}" : "}");
    SCOPED_TRACE(fields);
    const GroupLayout group = Fsdp(model, fields, ranks);
    std::vector<std::int64_t> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    for (const auto& [name, counts] : CountHeld(model, group, all)) {
      const bool mtp = name.starts_with("model.layers.4.");
      const int copies = mtp ? 0 : ExpectedCopies(name, replicate, shard * context, tensor, expert);
      for (std::size_t i = 0; i < counts.size(); ++i) {
        ASSERT_EQ(counts[i], copies) << name << " element " << i;
      }
    }
  }
}

}  // namespace
}  // namespace reshard
