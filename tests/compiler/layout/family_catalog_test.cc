#include "compiler/layout/family_catalog.h"

#include <algorithm>
#include <string>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

std::string FamilyNameOf(const Model& model) {
  const Result<const Family*> family = FamilyOf(model);
  return family ? (*family)->name : ToString(family.error());
}

TEST(FamilyCatalog, BuiltinFamiliesAreReadAndDistinct) {
  const Result<std::span<const Family>> families = BuiltinFamilies();
  ASSERT_TRUE(families) << ToString(families.error());
  std::vector<std::string> names;
  for (const Family& family : *families) names.push_back(family.name);
  EXPECT_EQ(names, (std::vector<std::string>{"deepseek_v3", "llama", "qwen3", "qwen3_moe"}));
  for (const auto& [file, text] : BuiltinFamilyFiles()) {
    EXPECT_NE(std::find(names.begin(), names.end(), file.substr(0, file.rfind('.'))), names.end())
        << file;
    EXPECT_TRUE(text.starts_with("{")) << file;
  }
}

TEST(FamilyCatalog, FamiliesByNameAndModelType) {
  EXPECT_EQ((*FamilyByName("qwen3"))->name, "qwen3");
  EXPECT_EQ((*FamilyByModelType("kimi_k2"))->name, "deepseek_v3");
  EXPECT_THAT(ToString(FamilyByName("qwen4").error()), HasSubstr("did you mean 'qwen3'?"));
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
