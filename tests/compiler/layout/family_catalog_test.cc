#include "compiler/layout/family_catalog.h"

#include <algorithm>
#include <string>

#include "family_test_model.h"
#include "foundation/json_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

std::string FamilyNameOf(const Model& model) {
  const Result<std::shared_ptr<const Family>> family = FamilyOf(model);
  return family ? (*family)->name : ToString(family.error());
}

TEST(FamilyCatalog, BuiltinFamiliesAreReadAndDistinct) {
  const Result<std::span<const Family>> families = BuiltinFamilies();
  ASSERT_TRUE(families) << ToString(families.error());
  std::vector<std::string> names;
  for (const Family& family : *families) names.push_back(family.name);
  EXPECT_EQ(names, (std::vector<std::string>{"deepseek_v2", "deepseek_v3", "gemma3", "glm4_moe",
                                             "gpt_oss", "llama", "llama4", "mixtral", "nemotron_h",
                                             "qwen2", "qwen2_moe", "qwen3", "qwen3_5",
                                             "qwen3_5_moe", "qwen3_moe", "qwen3_next"}));
  for (const auto& [file, text] : BuiltinFamilyFiles()) {
    EXPECT_NE(std::find(names.begin(), names.end(), file.substr(0, file.rfind('.'))), names.end())
        << file;
    EXPECT_TRUE(text.starts_with("{")) << file;
  }
}

TEST(FamilyCatalog, FamiliesByNameAndModelType) {
  EXPECT_EQ((*FamilyByName("qwen3"))->name, "qwen3");
  EXPECT_EQ((*FamilyByModelType("kimi_k2"))->name, "deepseek_v3");
  EXPECT_THAT(ToString(FamilyByName("qwen3_mo").error()), HasSubstr("did you mean 'qwen3_moe'?"));
  EXPECT_THAT(ToString(FamilyByModelType("lama").error()), HasSubstr("did you mean 'llama'?"));
}

TEST(FamilyCatalog, FullTensorListsAreRecognised) {
  EXPECT_EQ(FamilyNameOf(BareList(ReferenceModel("deepseek-v3", 4))), "deepseek_v3");
  EXPECT_EQ(FamilyNameOf(BareList(ReferenceModel("kimi-k2", 2))), "deepseek_v3");
  EXPECT_EQ(FamilyNameOf(BareList(ReferenceModel("tiny-moe"))), "qwen3_moe");
  EXPECT_EQ(FamilyNameOf(BareList(ReferenceModel("qwen3-4b"))), "qwen3");
}

// One layer of experts, norms and a biased router, no attention: only one family has such.
TEST(FamilyCatalog, PartOfALayerMayBeEnough) {
  Model model = BareList(ReferenceModel("deepseek-v3", 4));
  std::erase_if(model.tensors, [](const Tensor& tensor) {
    return !tensor.name.starts_with("model.layers.3.") ||
           tensor.name.find("self_attn") != std::string::npos;
  });
  ASSERT_FALSE(model.tensors.empty());
  EXPECT_EQ(FamilyNameOf(model), "deepseek_v3");
}

TEST(FamilyCatalog, GivenFamiliesWin) {
  Model model = BareList(ReferenceModel("qwen3-4b"));
  model.family = "qwen3_moe";
  EXPECT_EQ(FamilyNameOf(model), "qwen3_moe");
  model.family = "qwen3_mo";
  EXPECT_THAT(FamilyNameOf(model), HasSubstr("did you mean 'qwen3_moe'?"));
}

// A family that the program does not know, said in the job: nothing is compiled for it.
constexpr const char* kOwnFamily = R"json({
  "name": "mine", "layers": "depth", "fields": {"depth": {"infer": "layers()"}, "width": {}},
  "tensors": [{"name": "blocks.{layer}.up.weight", "role": "mlp.up", "shape": ["width", "8"]}]})json";

TEST(FamilyCatalog, UsersMayBringAFamily) {
  const Result<Model> listed =
      ModelOf(R"({"tensors": {"blocks.0.up.weight": {"shape": [4, 8], "dtype": "F32"}},
                  "config": {"width": 4}, "family": )" +
              std::string(kOwnFamily) + "}");
  ASSERT_TRUE(listed) << ToString(listed.error());
  EXPECT_EQ(FamilyNameOf(*listed), "mine");
  const Result<Model> implied =
      ModelOf(R"({"config": {"depth": 3, "width": 4, "dtype": "float32"}, "family": )" +
              std::string(kOwnFamily) + "}");
  ASSERT_TRUE(implied) << ToString(implied.error());
  ASSERT_EQ(implied->tensors.size(), 3U);
  EXPECT_EQ(implied->tensors[2].name, "blocks.2.up.weight");
  EXPECT_EQ(FamilyNameOf(*implied), "mine");
  // What a plan embeds reads back as an equal model.
  for (const Model* model : {&*listed, &*implied}) {
    const Result<Model> again = ModelOf(CanonicalJson(ModelToJson(*model)));
    ASSERT_TRUE(again) << ToString(again.error());
    EXPECT_EQ(again->tensors, model->tensors);
    EXPECT_EQ(CanonicalJson(ModelToJson(*again)), CanonicalJson(ModelToJson(*model)));
    EXPECT_EQ(FamilyNameOf(*again), "mine");
  }
}

TEST(FamilyCatalog, FaultsInAFamilyOfTheUsersNameTheirPlace) {
  const Result<Model> model = ModelOf(
      R"({"config": {"dtype": "float32"}, "family": {"name": "mine", "fields": {},
          "tensors": [{"name": "up", "role": "embeding", "shape": []}]}})");
  ASSERT_FALSE(model);
  EXPECT_THAT(ToString(model.error()), HasSubstr("did you mean 'embedding'?"));
}

TEST(FamilyCatalog, UnknownTensorsAreNamed) {
  Model model = BareList(ReferenceModel("qwen3-4b"));
  for (Tensor& tensor : model.tensors) {
    if (tensor.name == "model.norm.weight") tensor.name = "model.nrom.weight";
  }
  EXPECT_THAT(FamilyNameOf(model), HasSubstr("has no tensor model.nrom.weight"));
  const Result<Model> other = ModelOf(R"({"moe": {"shape": [4], "dtype": "BF16"}})");
  ASSERT_TRUE(other);
  EXPECT_THAT(FamilyNameOf(*other), HasSubstr("of no known family"));
  EXPECT_THAT(FamilyNameOf(Model()), HasSubstr("of no known family"));
}

}  // namespace
}  // namespace reshard
