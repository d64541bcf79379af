#include "compiler/job/family_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "compiler/layout/folder.h"
#include "compiler/layout/model_reader.h"
#include "foundation/strict_json.h"

namespace reshard {
namespace {

// Layers: Mamba, MLP, Mamba.
Model Hybrid() {
  const Result<JsonDocument> config = ParseJson(
      R"({"model_type": "nemotron_h", "torch_dtype": "bfloat16", "hidden_size": 8,
          "num_hidden_layers": 3, "hybrid_override_pattern": "M-M", "mamba_num_heads": 4,
          "mamba_head_dim": 3, "n_groups": 2, "ssm_state_size": 5, "conv_kernel": 4,
          "intermediate_size": 6, "vocab_size": 4})",
      "config.json");
  return ReadModel(JsonCursor(*config), Folder::Nowhere()).value();
}

// By name: "A_log -exp F32".
std::map<std::string, std::string> Texts(const FamilyForms& forms) {
  std::map<std::string, std::string> texts;
  for (const StoredForm& form : forms.stored) {
    std::string& text = texts[form.match.text()];
    text = form.function == ElementFunction::kIdentity              ? "x"
           : form.function == ElementFunction::kNegativeExponential ? "-exp(x)"
                                                                    : "x - 1";
    if (form.dtype) text += " " + std::string(Name(*form.dtype));
  }
  return texts;
}

using Map = std::map<std::string, std::string>;

TEST(FamilyFormsTest, ADestinationHoldsFunctions) {
  const FamilyForms forms = FindFamilyForms(Hybrid(), "vllm", /*is_source=*/false);
  EXPECT_TRUE(forms.functions_applied);
  EXPECT_EQ(Texts(forms), (Map{{"backbone.layers.0.mixer.A_log", "-exp(x) F32"},
                               {"backbone.layers.2.mixer.A_log", "-exp(x) F32"}}));
}

// There is no logarithm among the conversions.
TEST(FamilyFormsTest, ASourceWhoseFunctionHasNoWayBackLeavesItsTensorsOut) {
  const FamilyForms forms = FindFamilyForms(Hybrid(), "vllm", /*is_source=*/true);
  EXPECT_FALSE(forms.functions_applied);
  EXPECT_EQ(Texts(forms), Map{});
}

TEST(FamilyFormsTest, OtherDTypesAreForms) {
  const Map expected{{"backbone.layers.0.mixer.A_log", "x F32"},
                     {"backbone.layers.0.mixer.D", "x F32"},
                     {"backbone.layers.2.mixer.A_log", "x F32"},
                     {"backbone.layers.2.mixer.D", "x F32"}};
  for (const bool is_source : {false, true}) {
    const FamilyForms forms = FindFamilyForms(Hybrid(), "megatron", is_source);
    EXPECT_TRUE(forms.functions_applied);
    EXPECT_EQ(Texts(forms), expected);
  }
}

TEST(FamilyFormsTest, NothingIsSaidOfOtherFrameworksAndModels) {
  EXPECT_EQ(Texts(FindFamilyForms(Hybrid(), "fsdp", true)), Map{});
  Model unknown;
  unknown.tensors = {{"w", DType::kBF16, {2}}};
  const FamilyForms forms = FindFamilyForms(unknown, "vllm", false);
  EXPECT_EQ(Texts(forms), Map{});
  EXPECT_FALSE(forms.functions_applied);
}

}  // namespace
}  // namespace reshard
