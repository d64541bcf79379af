#include "compiler/layout/family_segments.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/source_directory.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kHybrid =
    R"({"model_type": "nemotron_h", "torch_dtype": "bfloat16", "hidden_size": 8,
        "num_hidden_layers": 1, "hybrid_override_pattern": "M", "mamba_num_heads": 4,
        "mamba_head_dim": 3, "n_groups": 2, "ssm_state_size": 5, "conv_kernel": 4,
        "vocab_size": 4})";
const std::string kDelta =
    R"({"torch_dtype": "bfloat16", "hidden_size": 8, "num_hidden_layers": 1,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2,
        "layer_types": ["linear_attention"], "linear_num_key_heads": 2,
        "linear_num_value_heads": 4, "linear_key_head_dim": 3, "linear_value_head_dim": 5,
        "linear_conv_kernel_dim": 4, "num_experts": 2, "moe_intermediate_size": 4,
        "shared_expert_intermediate_size": 4, "intermediate_size": 6, "vocab_size": 4, )";

// "in_proj 12:24", ..
std::vector<std::string> Text(const FamilyTensors& model,
                              const Result<std::vector<RowRange>>& rows) {
  if (!rows) return {ToString(rows.error())};
  std::vector<std::string> text;
  for (const RowRange& range : *rows) {
    std::string name = model.tensor(range.tensors[Kind::kWeight]).name;
    name.resize(name.rfind('.'));
    text.push_back(name.substr(name.rfind('.') + 1) + " " + std::to_string(range.begin) + ":" +
                   std::to_string(range.end));
  }
  return text;
}

// z 0:12 | x 12:24 | B 24:34 | C 34:44 | dt 44:48; half 1 of each.
TEST(Segments, MambaIsCutSegmentBySegment) {
  const Result<Model> model = ModelOf(kHybrid);
  ASSERT_TRUE(model) << ToString(model.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  const FamilyLayer& layer = tensors->layers().at(0);
  const Result<MambaSizes> sizes = MambaSizesOf(*tensors);
  ASSERT_TRUE(sizes) << ToString(sizes.error());
  EXPECT_THAT(Text(*tensors, MambaInputRows(*tensors, *sizes, layer[Role::kMambaInput], {2, 1})),
              ElementsAre("in_proj 6:12", "in_proj 18:24", "in_proj 29:34", "in_proj 39:44",
                          "in_proj 46:48"));
  // x 0:12 | B 12:22 | C 22:32.
  EXPECT_THAT(Text(*tensors,
                   MambaConvolutionRows(*tensors, *sizes, layer[Role::kMambaConvolution], {2, 1})),
              ElementsAre("conv1d 6:12", "conv1d 17:22", "conv1d 27:32"));
  EXPECT_THAT(Text(*tensors, MambaInputRows(*tensors, *sizes, layer[Role::kMambaInput], {4, 0})),
              ElementsAre(HasSubstr("in_proj.weight: heads or groups: 2 is not divisible by 4")));
}

// z 0:12 | x 12:24 | B 24:29 | C 29:34 | dt 34:38: the one group whole on each of 4 ranks.
TEST(Segments, OneGroupMayBeReplicated) {
  std::string json = kHybrid;
  json.replace(json.find(R"("n_groups": 2)"), 13, R"("n_groups": 1)");
  const Result<Model> model = ModelOf(json);
  ASSERT_TRUE(model) << ToString(model.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  Result<MambaSizes> sizes = MambaSizesOf(*tensors);
  ASSERT_TRUE(sizes) << ToString(sizes.error());
  const RoleTensors& input = tensors->layers().at(0)[Role::kMambaInput];
  EXPECT_THAT(Text(*tensors, MambaInputRows(*tensors, *sizes, input, {4, 3})),
              ElementsAre(HasSubstr("1 is not divisible by 4")));
  sizes->replicates_one_group = true;
  EXPECT_THAT(Text(*tensors, MambaInputRows(*tensors, *sizes, input, {4, 3})),
              ElementsAre("in_proj 9:12", "in_proj 21:24", "in_proj 24:29", "in_proj 29:34",
                          "in_proj 37:38"));
}

// Per key head: q 3 | k 3 | v 10 | z 10, 26 rows, and b 2 | a 2. Rank 1 has key head 1, which
// begins at row 26, and at row 4.
TEST(Segments, DeltaHeadsComeApart) {
  const Result<Model> model = ModelOf(kDelta + R"("model_type": "qwen3_next"})");
  ASSERT_TRUE(model) << ToString(model.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  const FamilyLayer& layer = tensors->layers().at(0);
  const Result<DeltaSizes> sizes = DeltaSizesOf(*tensors);
  ASSERT_TRUE(sizes) << ToString(sizes.error());
  EXPECT_THAT(Text(*tensors, DeltaInputRows(*tensors, *sizes, layer, {2, 1})),
              ElementsAre("in_proj_qkvz 26:29", "in_proj_qkvz 29:32", "in_proj_qkvz 32:42",
                          "in_proj_qkvz 42:52", "in_proj_ba 4:6", "in_proj_ba 6:8"));
  // Whole: q of both heads, then k of both, ..
  EXPECT_THAT(Text(*tensors, DeltaInputRows(*tensors, *sizes, layer, {1, 0})),
              ElementsAre("in_proj_qkvz 0:3", "in_proj_qkvz 26:29", "in_proj_qkvz 3:6",
                          "in_proj_qkvz 29:32", "in_proj_qkvz 6:16", "in_proj_qkvz 32:42",
                          "in_proj_qkvz 16:26", "in_proj_qkvz 42:52", "in_proj_ba 0:2",
                          "in_proj_ba 4:6", "in_proj_ba 2:4", "in_proj_ba 6:8"));
  // q 0:6 | k 6:12 | v 12:32.
  EXPECT_THAT(Text(*tensors,
                   DeltaConvolutionRows(*tensors, *sizes, layer[Role::kDeltaConvolution], {2, 1})),
              ElementsAre("conv1d 3:6", "conv1d 9:12", "conv1d 22:32"));
  EXPECT_THAT(Text(*tensors, DeltaInputRows(*tensors, *sizes, layer, {4, 0})),
              ElementsAre(HasSubstr("in_proj_qkvz.weight: key heads: 2 is not divisible by 4")));
}

// The same sizes, four tensors: qkv = q 0:6 | k 6:12 | v 12:32, z 0:20, b 0:4, a 0:4.
TEST(Segments, DeltaTensorsApartAreJoined) {
  const Result<Model> model = ModelOf(kDelta + R"("model_type": "qwen3_5_text"})");
  ASSERT_TRUE(model) << ToString(model.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  const Result<DeltaSizes> sizes = DeltaSizesOf(*tensors);
  ASSERT_TRUE(sizes) << ToString(sizes.error());
  EXPECT_THAT(Text(*tensors, DeltaInputRows(*tensors, *sizes, tensors->layers().at(0), {2, 1})),
              ElementsAre("in_proj_qkv 3:6", "in_proj_qkv 9:12", "in_proj_qkv 22:32",
                          "in_proj_z 10:20", "in_proj_b 2:4", "in_proj_a 2:4"));
}

// A family of one's own that knows the projection, but one tensor of it less.
TEST(Segments, AFamilyThatKnowsSomePartsOnlyIsRefused) {
  for (const auto& [file, missing] :
       {std::pair<std::string, std::string>{"qwen3_5", "delta.z"},
        std::pair<std::string, std::string>{"qwen3_next", "delta.ba"}}) {
    SCOPED_TRACE(missing);
    std::ifstream lines(SourceDirectory() + "/compiler/layout/families/" + file + ".json");
    std::string family;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("\"role\": \"" + missing + "\"") == std::string::npos) family += line + "\n";
    }
    const Result<Model> model =
        ModelOf(R"({"family": )" + family + R"(, "config": )" + kDelta + R"("model_type": "x"}})");
    ASSERT_TRUE(model) << ToString(model.error());
    const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
    ASSERT_TRUE(tensors) << ToString(tensors.error());
    const Result<DeltaSizes> sizes = DeltaSizesOf(*tensors);
    ASSERT_TRUE(sizes) << ToString(sizes.error());
    EXPECT_THAT(Text(*tensors, DeltaInputRows(*tensors, *sizes, tensors->layers().at(0), {2, 1})),
                ElementsAre(HasSubstr("but not all parts of that projection")));
  }
}

}  // namespace
}  // namespace reshard
