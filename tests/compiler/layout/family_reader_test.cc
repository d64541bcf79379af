#include <string>

#include "compiler/layout/family.h"
#include "foundation/strict_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

Result<Family> Read(const std::string& json) {
  const Result<JsonDocument> document = ParseJson(json, "mine.json");
  if (!document) return tl::unexpected(document.error());
  return ReadFamily(JsonCursor(*document));
}

std::string ErrorOf(const std::string& json) {
  const Result<Family> family = Read(json);
  return family ? "none" : ToString(family.error());
}

// A family of one norm a layer, with `more` behind its fields.
std::string With(const std::string& tensors, const std::string& more = "") {
  return R"({"name": "mine", "layers": "count", "fields": {"count": {"default": "2"},
             "size": {}}, "tensors": [)" +
         tensors + "]" + more + "}";
}

const std::string kNorm =
    R"({"name": "h.{layer}.norm.weight", "role": "norm.mlp_input", "shape": ["size"]})";

TEST(ReadFamily, ReadsEveryField) {
  const Result<Family> family = Read(
      R"json({"name": "mine", "modelTypes": ["a", "b"], 
          "requires": ["router", ["mla.q", "mla.q_a/bias"]],
          "multimodal": {"modelTypes": ["big"], "prefix": [["", "text."]],
                         "names": {"vllm": [["h.", "text.h."]]}},
          "names": {"sglang": [["h.", "x."], ["up", "down"]]},
          "layers": "count", "mtpLayers": "1", "experts": "number",
          "fields": {"count": {"infer": "layers()", "default": "4"}, "number": {}},
          "tensors": [{"name": "h.{layer}.e.{expert}.up", "role": "expert.up", "shape": ["8", "2"],
                       "when": "layer > 0", "quantized": true},
                      {"name": "h.{layer}.up.bias", "role": "mlp.up", "kind": "bias",
                       "shape": ["8"], "dtype": "F32", "mtp": true}],
          "recomputed": {"vllm": [{"name": "h.{layer}.w", "from": "mlp.up"}]},
          "repacked": {"vllm": [{"backend": "b", "roles": ["expert.up", "mlp.up"],
                                 "into": "upGate"}]},
          "stored": {"megatron": [{"role": "mlp.up", "as": "minusOne"}],
                     "vllm": [{"role": "expert.up", "as": "-exp", "dtype": "F32"},
                              {"role": "mlp.up", "dtype": "F16"}]}})json");
  ASSERT_TRUE(family) << ToString(family.error());
  EXPECT_EQ(family->name, "mine");
  EXPECT_EQ(family->model_types, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(family->required,
            (std::vector<std::vector<RequiredTensor>>{
                {{Role::kRouter}}, {{Role::kMlaQuery}, {Role::kMlaQueryDown, Kind::kBias}}}));
  EXPECT_EQ(family->multimodal.model_types, std::vector<std::string>{"big"});
  EXPECT_EQ(family->multimodal.prefix, (NameReplacements{{"", "text."}}));
  EXPECT_EQ(family->multimodal.names.at("vllm"), (NameReplacements{{"h.", "text.h."}}));
  EXPECT_EQ(family->names.at("sglang"), (NameReplacements{{"h.", "x."}, {"up", "down"}}));
  EXPECT_EQ(family->layers->text(), "count");
  EXPECT_EQ(family->mtp_layers->text(), "1");
  EXPECT_EQ(family->experts->text(), "number");
  ASSERT_NE(family->FindField("count"), nullptr);
  EXPECT_EQ(family->FindField("count")->infer->text(), "layers()");
  EXPECT_EQ(family->FindField("count")->otherwise->text(), "4");
  EXPECT_EQ(family->FindField("absent"), nullptr);
  ASSERT_EQ(family->tensors.size(), 2U);
  EXPECT_EQ(family->tensors[0].role, Role::kExpertUp);
  EXPECT_EQ(family->tensors[0].when->text(), "layer > 0");
  EXPECT_TRUE(family->tensors[0].quantized);
  EXPECT_EQ(family->tensors[0].kind, Kind::kWeight);
  EXPECT_EQ(family->tensors[1].kind, Kind::kBias);
  EXPECT_EQ(family->tensors[1].dtype, DType::kF32);
  EXPECT_FALSE(family->tensors[0].mtp);
  EXPECT_TRUE(family->tensors[1].mtp);
  EXPECT_TRUE(family->NumbersMtpApart());
  EXPECT_TRUE(family->HasRole(Role::kMlpUp));
  EXPECT_FALSE(family->HasRole(Role::kMlpDown));
  ASSERT_EQ(family->recomputed.size(), 1U);
  EXPECT_EQ(family->recomputed[0].framework, "vllm");
  EXPECT_EQ(family->recomputed[0].name, "h.{layer}.w");
  EXPECT_EQ(family->recomputed[0].from, Role::kMlpUp);
  ASSERT_EQ(family->repacked.size(), 1U);
  EXPECT_EQ(family->repacked[0].framework, "vllm");
  EXPECT_EQ(family->repacked[0].backend, "b");
  EXPECT_EQ(family->repacked[0].roles, (std::vector<Role>{Role::kExpertUp, Role::kMlpUp}));
  EXPECT_EQ(family->repacked[0].into, kIntoUpGate);
  ASSERT_EQ(family->stored.size(), 3U);
  EXPECT_EQ(family->stored[0].framework, "megatron");
  EXPECT_EQ(family->stored[0].function, StoredFunction::kMinusOne);
  EXPECT_EQ(family->stored[0].dtype, std::nullopt);
  EXPECT_EQ(family->stored[1].role, Role::kExpertUp);
  EXPECT_EQ(family->stored[1].function, StoredFunction::kNegativeExponential);
  EXPECT_EQ(family->stored[1].dtype, DType::kF32);
  EXPECT_EQ(family->stored[2].function, StoredFunction::kIdentity);
  EXPECT_EQ(family->stored[2].dtype, DType::kF16);
}

// Each replacement looks for the first occurrence in what the one before left.
TEST(ReadFamily, ReplacementsAreMadeInOrder) {
  EXPECT_EQ(Replaced("a.b.a.c", {{"a.", "x."}, {"x.b", "y"}}), "y.a.c");
  EXPECT_EQ(Replaced("a.b", {{"c", "d"}}), "a.b");
  EXPECT_EQ(Replaced("a.b", {{"", "p."}}), "p.a.b");
}

TEST(ReadFamily, UnknownFunctionsAndDTypesAreRefused) {
  EXPECT_THAT(ErrorOf(With(kNorm, R"(, "stored": {"vllm": [{"role": "mlp.up", "as": "exp"}]})")),
              HasSubstr("unknown function 'exp'; known are '-exp', 'minusOne'"));
  EXPECT_THAT(ErrorOf(With(kNorm, R"(, "stored": {"vllm": [{"role": "mlp.up", "dtype": "F1"}]})")),
              HasSubstr("unknown dtype 'F1'"));
  EXPECT_THAT(ErrorOf(With(kNorm, R"(, "repacked": {"vllm": [{"backend": "b", "into": "c"}]})")),
              HasSubstr("roles"));
}

TEST(ReadFamily, MalformedNamesAreRefused) {
  EXPECT_THAT(ErrorOf(With(kNorm, R"(, "names": {"vllm": [["a"]]})")),
              HasSubstr("expected what to replace, and by what"));
  EXPECT_THAT(ErrorOf(With(kNorm, R"(, "multimodal": {"modelTypes": ["big"]})")),
              HasSubstr("prefix"));
  EXPECT_THAT(
      ErrorOf(With(R"({"name": "m.{layer}.up", "role": "mlp.up", "shape": [], "mtp": true})")),
      HasSubstr("'mtpLayers' is missing"));
  EXPECT_THAT(ErrorOf(With(R"({"name": "h.{layer}.e", "role": "experts.down", "shape": []})")),
              HasSubstr("'experts' is missing"));
}

TEST(ReadFamily, MisspeltWordsAreRefusedWithTheNearest) {
  EXPECT_EQ(ErrorOf(With(kNorm)), "none");
  EXPECT_THAT(ErrorOf(With(kNorm, R"(, "requres": [])")), HasSubstr("did you mean 'requires'?"));
  EXPECT_THAT(ErrorOf(With(R"({"name": "n", "role": "norm.finl", "shape": []})")),
              HasSubstr("unknown role 'norm.finl'; did you mean 'norm.final'?"));
  EXPECT_THAT(ErrorOf(With(R"({"name": "n", "role": "norm.final", "shape": ["sise"]})")),
              HasSubstr("'sise' mentions 'sise', which fields lacks; did you mean 'size'?"));
  EXPECT_THAT(
      ErrorOf(
          With(R"json({"name": "n", "role": "norm.final", "shape": [], "when": "has(siz)"})json")),
      HasSubstr("did you mean 'size'?"));
  EXPECT_THAT(
      ErrorOf(With(R"json({"name": "n", "role": "norm.final", "shape": ["row(embedding)"]})json")),
      HasSubstr("calls 'row', which is unknown; did you mean 'rows'?"));
  EXPECT_THAT(
      ErrorOf(With(R"json({"name": "n", "role": "norm.final", "shape": ["rows(embeding)"]})json")),
      HasSubstr("did you mean 'embedding'?"));
  EXPECT_THAT(ErrorOf(With(R"({"name": "n", "role": "norm.final", "shape": [], "kind": "scale"})")),
              HasSubstr("unknown kind 'scale'"));
  EXPECT_THAT(ErrorOf(With(R"({"name": "n", "role": "norm.final", "shape": [], "dtype": "BF15"})")),
              HasSubstr("unknown dtype 'BF15'"));
}

TEST(ReadFamily, PatternsMustFitTheirRoles) {
  // A role of a layer without {layer}; of the model with it; an expert's without {expert}.
  EXPECT_THAT(ErrorOf(With(R"({"name": "n", "role": "norm.mlp_input", "shape": ["size"]})")),
              HasSubstr("do not fit the role norm.mlp_input"));
  EXPECT_THAT(ErrorOf(With(R"({"name": "h.{layer}.n", "role": "norm.final", "shape": ["size"]})")),
              HasSubstr("do not fit the role norm.final"));
  EXPECT_THAT(
      ErrorOf(With(R"({"name": "h.{layer}.n", "role": "expert.up", "shape": ["size", "1"]})")),
      HasSubstr("do not fit the role expert.up"));
  EXPECT_THAT(
      ErrorOf(
          With(R"({"name": "h.{layer}.{expert}.n", "role": "expert.up", "shape": ["size", "1"]})")),
      HasSubstr("'experts' is missing"));
  EXPECT_THAT(ErrorOf(With(R"({"name": "h.x{layer}.n", "role": "norm.mlp_input", "shape": []})")),
              HasSubstr("is no name pattern"));
  EXPECT_THAT(ErrorOf(With(R"({"name": "h..n", "role": "norm.final", "shape": []})")),
              HasSubstr("is no name pattern"));
  EXPECT_THAT(ErrorOf(With(kNorm + "," + kNorm)), HasSubstr("two patterns are named"));
  EXPECT_THAT(ErrorOf(With(R"({"name": "n", "role": "norm.final", "shape": ["size"],
                              "quantized": true})")),
              HasSubstr("only a matrix is quantized"));
}

TEST(ReadFamily, SyntaxOfExpressionsIsCheckedAtItsPlace) {
  EXPECT_THAT(ErrorOf(With(R"({"name": "n", "role": "norm.final", "shape": ["size *"]})")),
              HasSubstr("mine.json: tensors.0.shape.0: in 'size *': ends where a value"));
}

}  // namespace
}  // namespace reshard
