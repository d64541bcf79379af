#include "compiler/layout/family_attention.h"

#include <string>
#include <vector>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RoleTensors Named(TensorIndex weight) {
  RoleTensors tensors;
  tensors[Kind::kWeight] = weight;
  return tensors;
}

// Tensors 0, 1, 2 are q, k, v.
const std::vector<RoleTensors>& Parts() {
  static const std::vector<RoleTensors> kParts{Named(0), Named(1), Named(2)};
  return kParts;
}

std::vector<std::string> Text(const std::vector<RowRange>& rows) {
  std::vector<std::string> text;
  for (const RowRange& range : rows) {
    text.push_back(std::string(1, "qkv"[range.tensors[Kind::kWeight]]) + " " +
                   std::to_string(range.begin) + ":" + std::to_string(range.end));
  }
  return text;
}

TEST(Attention, GroupsAreQueryHeadsThenKeyThenValue) {
  // 6 query heads, 2 key-value heads, of 10 rows: 3 query heads a group.
  EXPECT_THAT(Text(RowsByGroup({6, 2, 10}, Parts())),
              ElementsAre("q 0:30", "k 0:10", "v 0:10", "q 30:60", "k 10:20", "v 10:20"));
}

// Of twice as many rows with gates, whose number still fits 64 bits.
TEST(Attention, HeadsBeyondAnyModelAreRefused) {
  const Model model = Of(R"({"tensors": {"model.norm.weight": {"shape": [8], "dtype": "BF16"}},
      "family": "qwen3_next", "config": {"num_hidden_layers": 1, "hidden_size": 8,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4611686018427387904}})");
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  const Result<AttentionHeads> heads = HeadsOf(*tensors);
  ASSERT_FALSE(heads);
  EXPECT_THAT(ToString(heads.error()),
              HasSubstr("config.head_dim is 4611686018427387904; expected 1 to 1048576"));
}

// Per query head 10 rows of q, then 10 of its gate: a group of 2 heads is q q | gate gate | k | v.
TEST(Attention, GatesStandBehindTheQueriesOfAGroup) {
  EXPECT_THAT(Text(RowsByGroup({.query = 4, .key_value = 2, .dim = 10, .gated = true}, Parts())),
              ElementsAre("q 0:10", "q 20:30", "q 10:20", "q 30:40", "k 0:10", "v 0:10", "q 40:50",
                          "q 60:70", "q 50:60", "q 70:80", "k 10:20", "v 10:20"));
}

TEST(Attention, RanksHoldTheirHeadsWithTheGates) {
  const auto rows =
      RowsByRank({.query = 4, .key_value = 2, .dim = 10, .gated = true}, Parts(), 4, 3, "qkv");
  ASSERT_TRUE(rows);
  EXPECT_THAT(Text(*rows), ElementsAre("q 60:80", "k 10:20", "v 10:20"));
}

// Row 2j + b of a head of 6 becomes row 3b + j.
TEST(Attention, RotaryPairsBecomeHalves) {
  EXPECT_THAT(Text(RotaryHalves({Named(1), 6, 18}, 6)),
              ElementsAre("k 6:7", "k 8:9", "k 10:11", "k 7:8", "k 9:10", "k 11:12", "k 12:13",
                          "k 14:15", "k 16:17", "k 13:14", "k 15:16", "k 17:18"));
}

TEST(Attention, RanksHoldTheirHeads) {
  const auto rows = RowsByRank({8, 4, 10}, Parts(), 2, 1, "qkv");
  ASSERT_TRUE(rows);
  EXPECT_THAT(Text(*rows), ElementsAre("q 40:80", "k 20:40", "v 20:40"));
}

// 2 key-value heads over 8 ranks: four neighbours hold one.
TEST(Attention, KeyValueHeadsAreReplicatedBeyondTheirNumber) {
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    const auto rows = RowsByRank({8, 2, 10}, Parts(), 8, rank, "qkv");
    ASSERT_TRUE(rows);
    const std::string key_value = rank < 4 ? "0:10" : "10:20";
    EXPECT_THAT(Text(*rows),
                ElementsAre("q " + std::to_string(10 * rank) + ":" + std::to_string(10 * rank + 10),
                            "k " + key_value, "v " + key_value));
  }
}

TEST(Attention, HeadsThatDoNotDivideAreRefused) {
  EXPECT_THAT(ToString(RowsByRank({8, 4, 10}, Parts(), 3, 0, "qkv").error()),
              HasSubstr("qkv: query heads: 8 is not divisible by 3"));
  EXPECT_THAT(ToString(RowsByRank({12, 4, 10}, Parts(), 3, 0, "qkv").error()),
              HasSubstr("qkv: key-value heads: 4 is not divisible by 3"));
  EXPECT_THAT(ToString(RowsByRank({12, 4, 10}, Parts(), 6, 0, "qkv").error()),
              HasSubstr("6 ranks do not divide by 4 key-value heads"));
}

TEST(Attention, HeadsComeFromTheConfig) {
  const Model model = ReferenceModel("tiny-moe");
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(model);
  ASSERT_TRUE(tensors);
  const Result<AttentionHeads> heads = HeadsOf(*tensors);
  ASSERT_TRUE(heads) << ToString(heads.error());
  EXPECT_EQ(heads->query, 8);
  EXPECT_EQ(heads->key_value, 2);
  EXPECT_EQ(heads->dim, 64);
  const FamilyLayer& layer = tensors->layers().at(0);
  const std::vector<RoleTensors> parts{layer[Role::kAttentionQuery], layer[Role::kAttentionKey],
                                       layer[Role::kAttentionValue]};
  EXPECT_TRUE(CheckHeads(*tensors, *heads, parts));
  const Result<void> wrong = CheckHeads(*tensors, {8, 4, 64}, parts);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(ToString(wrong.error()),
              HasSubstr("model.layers.0.self_attn.k_proj.weight has 128 rows, not 4 heads of 64"));
}

TEST(Attention, CountsThatCannotBeAreRefused) {
  const std::string start =
      R"({"tensors": {"model.layers.0.self_attn.q_proj.weight": {"shape": [12, 4], "dtype": "F32"}},
          "family": "llama", "config": )";
  const auto error_of = [&](const std::string& config) {
    const Result<Model> model = ModelOf(start + config + "}");
    EXPECT_TRUE(model) << ToString(model.error());
    const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
    EXPECT_TRUE(tensors) << ToString(tensors.error());
    const Result<AttentionHeads> heads = HeadsOf(*tensors);
    return heads ? std::string("none") : ToString(heads.error());
  };
  EXPECT_EQ(error_of(R"({"num_attention_heads": 6, "num_key_value_heads": 3})"), "none");
  EXPECT_THAT(error_of(R"({"num_attention_heads": 6, "num_key_value_heads": 4})"),
              HasSubstr("6 query heads do not divide by 4 key-value heads"));
  EXPECT_THAT(error_of(R"({"num_attention_heads": 6, "num_key_value_heads": 0})"),
              HasSubstr("config.num_key_value_heads is 0"));
  EXPECT_THAT(error_of("{}"), HasSubstr("give config.num_attention_heads"));
}

}  // namespace
}  // namespace reshard
