#include "compiler/layout/family_linear.h"

#include <string>
#include <vector>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One layer of FP8 with blocks of [4, 4]: gate, up [10, 8], down [8, 10]; q, k, v with biases.
Model TestModel() {
  Result<Model> model = ModelOf(
      R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 8,
          "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
          "head_dim": 4, "intermediate_size": 10, "vocab_size": 6, "attention_bias": true,
          "quantization_config": {"quant_method": "fp8", "weight_block_size": [4, 4]}})");
  EXPECT_TRUE(model) << ToString(model.error());
  return model ? *std::move(model) : Model();
}

class LinearTest : public ::testing::Test {
 protected:
  LinearTest() : model_(TestModel()), tensors_(*FamilyTensors::Classify(model_)) {}

  RoleTensors Of(Role role) const { return tensors_.layers().at(0)[role]; }
  RowRange Rows(Role role, std::int64_t begin, std::int64_t end) const {
    return {Of(role), begin, end};
  }

  // The lines of all parameters of one cut, and the error if there is one.
  std::vector<std::string> Add(const LinearCut& cut, const LinearNames& names = Names()) const {
    RankLayoutBuilder builder(model_);
    const Result<void> added = LinearBuilder(tensors_, builder).Add(names, cut);
    return added ? Text(std::move(builder)) : std::vector<std::string>{ToString(added.error())};
  }
  std::vector<std::string> Stack(const std::vector<LinearCut>& cuts) const {
    RankLayoutBuilder builder(model_);
    const Result<void> added = LinearBuilder(tensors_, builder).AddStack(Names(), cuts);
    return added ? Text(std::move(builder)) : std::vector<std::string>{ToString(added.error())};
  }

  static LinearNames Names() { return {.weight = "w", .bias = "b", .scale = "s"}; }

  Model model_;
  FamilyTensors tensors_;

 private:
  std::vector<std::string> Text(RankLayoutBuilder builder) const {
    const Result<RankLayout> layout = std::move(builder).Build();
    EXPECT_TRUE(layout) << ToString(layout.error());
    std::vector<std::string> lines;
    for (const Parameter& parameter : layout->parameters) {
      for (const std::string& line :
           ParameterText(model_, *layout, parameter.name, "model.layers.0.")) {
        lines.push_back(parameter.name + " " + line);
      }
    }
    return lines;
  }
};

TEST_F(LinearTest, RowsAreJoinedWithTheirBiasesAndScales) {
  // Rows of q and k: whole blocks of 4.
  EXPECT_THAT(Add({.rows = {Rows(Role::kAttentionQuery, 4, 8), Rows(Role::kAttentionKey, 0, 4)}}),
              ElementsAre("b BF16 [8]",                         //
                          "b [0] self_attn.q_proj.bias [4:8]",  //
                          "b [4] self_attn.k_proj.bias [0:4]",  //
                          "s F32 [2, 2]",                       //
                          "s [0, 0] self_attn.q_proj.weight_scale_inv [1:2, 0:2]",
                          "s [1, 0] self_attn.k_proj.weight_scale_inv [0:1, 0:2]",
                          "w F8_E4M3 [8, 8]",  //
                          "w [0, 0] self_attn.q_proj.weight [4:8, 0:8]",
                          "w [4, 0] self_attn.k_proj.weight [0:4, 0:8]"));
}

// The bias of a matrix whose columns are cut stays whole.
TEST_F(LinearTest, ColumnsAreCutInWeightAndScale) {
  LinearCut cut{.rows = {Rows(Role::kAttentionOutput, 0, 8)}};
  cut.column_begin = 4;
  cut.column_end = 8;
  EXPECT_THAT(Add(cut),
              ElementsAre("b BF16 [8]",                         //
                          "b [0] self_attn.o_proj.bias [0:8]",  //
                          "s F32 [2, 1]", "s [0, 0] self_attn.o_proj.weight_scale_inv [0:2, 1:2]",
                          "w F8_E4M3 [8, 4]", "w [0, 0] self_attn.o_proj.weight [0:8, 4:8]"));
}

// 10 rows are two blocks and a half: whole matrices may end so, if they are the last part.
TEST_F(LinearTest, OnlyTheLastPartMayEndInsideABlock) {
  EXPECT_THAT(Add({.rows = {Rows(Role::kAttentionQuery, 0, 4), Rows(Role::kMlpUp, 0, 10)}}),
              ElementsAre(HasSubstr("only one has a bias")));
  EXPECT_THAT(Add({.rows = {Rows(Role::kMlpGate, 0, 8), Rows(Role::kMlpUp, 0, 10)}}),
              ElementsAre("s F32 [5, 2]",  //
                          "s [0, 0] mlp.gate_proj.weight_scale_inv [0:2, 0:2]",
                          "s [2, 0] mlp.up_proj.weight_scale_inv [0:3, 0:2]",
                          "w F8_E4M3 [18, 8]",  //
                          "w [0, 0] mlp.gate_proj.weight [0:8, 0:8]",
                          "w [8, 0] mlp.up_proj.weight [0:10, 0:8]"));
  EXPECT_THAT(Add({.rows = {Rows(Role::kMlpGate, 0, 10), Rows(Role::kMlpUp, 0, 10)}}),
              ElementsAre(HasSubstr("mlp.gate_proj.weight: rows 0 to 10 of 10 cut its FP8 blocks "
                                    "of 4")));
  EXPECT_THAT(Add({.rows = {Rows(Role::kMlpGate, 0, 5)}}), ElementsAre(HasSubstr("rows 0 to 5")));
  EXPECT_THAT(Add({.rows = {Rows(Role::kMlpGate, 5, 10)}}), ElementsAre(HasSubstr("rows 5 to 10")));
  LinearCut columns{.rows = {Rows(Role::kMlpDown, 0, 8)}};
  columns.column_begin = 0;
  columns.column_end = 5;
  EXPECT_THAT(Add(columns), ElementsAre(HasSubstr("mlp.down_proj.weight: columns 0 to 5 of 10")));
}

TEST_F(LinearTest, ScaleColumnsArePaddedWhereAsked) {
  LinearNames names = Names();
  names.scale_columns_multiple = 4;
  // Three columns of scales stored as four.
  EXPECT_THAT(Add({.rows = {Rows(Role::kMlpDown, 0, 4)}}, names),
              ElementsAre("s F32 [1, 4]",  //
                          "s [0, 0] mlp.down_proj.weight_scale_inv [0:1, 0:3]", "w F8_E4M3 [4, 10]",
                          "w [0, 0] mlp.down_proj.weight [0:4, 0:10]"));
}

TEST_F(LinearTest, StacksHaveOneEntryACut) {
  EXPECT_THAT(Stack({{.rows = {Rows(Role::kMlpGate, 0, 4), Rows(Role::kMlpUp, 4, 8)}},
                     {.rows = {Rows(Role::kMlpUp, 0, 8)}}}),
              ElementsAre("s F32 [2, 2, 2]",  //
                          "s [0, 0, 0] mlp.gate_proj.weight_scale_inv [0:1, 0:2]",
                          "s [0, 1, 0] mlp.up_proj.weight_scale_inv [1:2, 0:2]",
                          "s [1, 0, 0] mlp.up_proj.weight_scale_inv [0:2, 0:2]",
                          "w F8_E4M3 [2, 8, 8]",  //
                          "w [0, 0, 0] mlp.gate_proj.weight [0:4, 0:8]",
                          "w [0, 4, 0] mlp.up_proj.weight [4:8, 0:8]",
                          "w [1, 0, 0] mlp.up_proj.weight [0:8, 0:8]"));
  EXPECT_THAT(Stack({{.rows = {Rows(Role::kMlpGate, 0, 4)}}, {.rows = {Rows(Role::kMlpUp, 0, 8)}}}),
              ElementsAre(HasSubstr("mlp.up_proj.weight differs in shape")));
  EXPECT_THAT(Stack({}), IsEmpty());
}

TEST_F(LinearTest, PartsMustBeEquallyWideAndOfOneDtype) {
  EXPECT_THAT(Add({.rows = {Rows(Role::kMlpGate, 0, 4), Rows(Role::kMlpDown, 0, 4)}}),
              ElementsAre(HasSubstr("down_proj.weight does not join with")));
  Model mixed = model_;
  mixed.tensors[static_cast<std::size_t>(*mixed.Find("model.layers.0.mlp.up_proj.weight"))].dtype =
      DType::kF8E5M2;
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(mixed);
  ASSERT_TRUE(tensors);
  RankLayoutBuilder builder(mixed);
  const FamilyLayer& layer = tensors->layers().at(0);
  const Result<void> added =
      LinearBuilder(*tensors, builder)
          .Add(Names(), {.rows = {{layer[Role::kMlpGate], 0, 8}, {layer[Role::kMlpUp], 0, 8}}});
  ASSERT_FALSE(added);
  EXPECT_THAT(ToString(added.error()), HasSubstr("the parameter is F8_E4M3, but tensor "
                                                 "model.layers.0.mlp.up_proj.weight"));
}

// Families of users may say what shapes they like.
TEST(Linear, ShapesThatAreNoLinearsAreRefused) {
  const auto error_of = [](const std::string& weight, const std::string& bias) {
    const Result<Model> model =
        ModelOf(R"({"tensors": {"h.0.w": {"shape": )" + weight + R"(, "dtype": "F32"},
                        "h.0.b": {"shape": )" +
                bias + R"(, "dtype": "F32"}},
            "family": {"name": "mine", "layers": "1", "fields": {}, "tensors": [
              {"name": "h.{layer}.w", "role": "mlp.up", "shape": )" +
                (weight.size() > 6 ? R"(["4", "2", "3"])" : R"(["4", "2"])") + R"(},
              {"name": "h.{layer}.b", "role": "mlp.up", "kind": "bias", "shape": [")" +
                bias.substr(1, 1) + R"("]}]}})");
    EXPECT_TRUE(model) << ToString(model.error());
    const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
    EXPECT_TRUE(tensors) << ToString(tensors.error());
    RankLayoutBuilder builder(*model);
    const RoleTensors& up = tensors->layers().at(0)[Role::kMlpUp];
    const Result<void> added =
        LinearBuilder(*tensors, builder)
            .Add({.weight = "w", .bias = "b", .scale = "s"}, {.rows = {AllRows(*tensors, up)}});
    return added ? std::string("none") : ToString(added.error());
  };
  EXPECT_EQ(error_of("[4, 2]", "[4]"), "none");
  EXPECT_EQ(error_of("[4, 2, 3]", "[4]"), "none");
  EXPECT_THAT(error_of("[4, 2]", "[3]"),
              HasSubstr("h.0.b does not have one element for each of 4 rows of h.0.w"));
}

// A convolution's weight: rows 3:5, then 0:1, of [6, 1, 4]; what is behind the rows stays together.
TEST(Linear, DimsBehindTheRowsAreTakenWhole) {
  const Result<Model> model = ModelOf(R"({"tensors": {
      "h.0.w": {"shape": [6, 2, 4], "dtype": "F32"}, "h.0.b": {"shape": [6], "dtype": "F32"}},
    "family": {"name": "mine", "layers": "1", "fields": {}, "tensors": [
      {"name": "h.{layer}.w", "role": "mamba.conv", "shape": ["6", "2", "4"]},
      {"name": "h.{layer}.b", "role": "mamba.conv", "kind": "bias", "shape": ["6"]}]}})");
  ASSERT_TRUE(model) << ToString(model.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  const RoleTensors& convolution = tensors->layers().at(0)[Role::kMambaConvolution];
  LinearCut cut{.rows = {{convolution, 3, 5}, {convolution, 0, 1}}};
  RankLayoutBuilder builder(*model);
  LinearBuilder linear(*tensors, builder);
  ASSERT_TRUE(linear.Add({.weight = "w", .bias = "b"}, cut));
  cut.column_end = 1;
  EXPECT_THAT(ToString(linear.Add({.weight = "v", .bias = "c"}, cut).error()),
              HasSubstr("h.0.w has 3 dims; only a matrix has columns to cut"));
  const RankLayout layout = *std::move(builder).Build();
  EXPECT_THAT(ParameterText(*model, layout, "w"),
              ElementsAre("F32 [3, 2, 4]", "[0, 0, 0] h.0.w [3:5, 0:2, 0:4]",
                          "[2, 0, 0] h.0.w [0:1, 0:2, 0:4]"));
  EXPECT_THAT(ParameterText(*model, layout, "b"),
              ElementsAre("F32 [3]", "[0] h.0.b [3:5]", "[2] h.0.b [0:1]"));
  // Element (a, b, c) of a region of w lies 8 a + 4 b + c behind its begin.
  EXPECT_EQ(
      std::vector<std::int64_t>(layout.regions[3].stride.begin(), layout.regions[3].stride.end()),
      (std::vector<std::int64_t>{8, 4, 1}));
}

TEST_F(LinearTest, TensorsWithoutAParameterAreRefused) {
  LinearNames names = Names();
  names.bias.clear();
  EXPECT_THAT(Add({.rows = {Rows(Role::kAttentionQuery, 0, 4)}}, names),
              ElementsAre(HasSubstr("q_proj.bias: the framework has no parameter for it")));
}

TEST_F(LinearTest, VectorsHaveNoColumns) {
  EXPECT_THAT(Add({.rows = {Rows(Role::kMlpInputNorm, 0, 8)}}),
              ElementsAre("w BF16 [8]", "w [0] post_attention_layernorm.weight [0:8]"));
}

// q 0..7 | k 0..3 | v 0..3: rows 6..13 are q 6..7, k, v 0..1; neighbours of one tensor are one
// range.
TEST_F(LinearTest, SlicesOfJoinedRows) {
  const std::vector<RowRange> rows{
      Rows(Role::kAttentionQuery, 0, 3), Rows(Role::kAttentionQuery, 3, 8),
      Rows(Role::kAttentionKey, 0, 4), Rows(Role::kAttentionValue, 0, 4)};
  EXPECT_EQ(RowCount(rows), 16);
  const std::vector<RowRange> slice = SliceRows(rows, 6, 14);
  ASSERT_EQ(slice.size(), 3U);
  EXPECT_EQ(slice[0].begin, 6);
  EXPECT_EQ(slice[0].end, 8);
  EXPECT_EQ(slice[1].end, 4);
  EXPECT_EQ(slice[2].begin, 0);
  EXPECT_EQ(slice[2].end, 2);
  const std::vector<RowRange> joined = SliceRows(rows, 1, 8);
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].begin, 1);
  EXPECT_EQ(joined[0].end, 8);
  EXPECT_THAT(SliceRows(rows, 5, 5), IsEmpty());
}

TEST(EqualShare, DividesOrNamesWhatDoesNot) {
  const Result<Share> share = EqualShare(12, 4, 3, "rows");
  ASSERT_TRUE(share);
  EXPECT_EQ(share->begin, 9);
  EXPECT_EQ(share->end, 12);
  EXPECT_EQ(ToString(EqualShare(10, 4, 0, "q_proj: rows").error()),
            "q_proj: rows: 10 is not divisible by 4; choose a degree that divides it");
}

TEST_F(LinearTest, RolesThatFormAParameterComeTogether) {
  const std::vector<Role> gate_up{Role::kMlpGate, Role::kMlpUp};
  const FamilyLayer& layer = tensors_.layers().at(0);
  const auto both = Together(tensors_, layer, gate_up, "fc1");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->size(), 2U);
  FamilyLayer partial = layer;
  partial.roles[static_cast<std::size_t>(Role::kMlpUp)] = RoleTensors();
  const auto one = Together(tensors_, partial, gate_up, "fc1");
  ASSERT_FALSE(one);
  EXPECT_THAT(ToString(one.error()),
              HasSubstr("layer 0 has model.layers.0.mlp.gate_proj.weight but no mlp.up: fc1 would "
                        "hold some parts only"));
  partial.roles[static_cast<std::size_t>(Role::kMlpGate)] = RoleTensors();
  const auto none = Together(tensors_, partial, gate_up, "fc1");
  ASSERT_TRUE(none);
  EXPECT_THAT(*none, IsEmpty());
  // A role that the family does not have is not missing: an MLP without a gate.
  const std::vector<Role> with_router{Role::kMlpGate, Role::kMlpUp, Role::kRouter};
  EXPECT_EQ(Together(tensors_, layer, with_router, "fc1")->size(), 2U);
  partial.roles[static_cast<std::size_t>(Role::kMlpUp)][Kind::kBias] = 0;
  EXPECT_THAT(ToString(Together(tensors_, partial, gate_up, "fc1").error()),
              HasSubstr("has a bias of mlp.up but no weight"));
}

}  // namespace
}  // namespace reshard
