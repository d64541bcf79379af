#include "foundation/json_cursor.h"

#include <gtest/gtest.h>

#include "foundation/strict_json.h"

namespace reshard {
namespace {

JsonDocument Parsed(std::string_view text) {
  Result<JsonDocument> document = ParseJson(text, "job.json");
  EXPECT_TRUE(document) << ToString(document.error());
  return document.value_or(JsonDocument{});
}

template <typename T>
std::string ErrorOf(const Result<T>& result) {
  return result ? "no error" : ToString(result.error());
}

TEST(JsonCursorTest, ErrorsNameFileAndPath) {
  const JsonDocument document =
      Parsed(R"({"source": {"layout": {"megatron": {"tensor": 8, "pipeline": "4"}}}})");
  const Result<JsonCursor> megatron = JsonCursor(document)
                                          .Field("source")
                                          .and_then([](auto c) { return c.Field("layout"); })
                                          .and_then([](auto c) { return c.Field("megatron"); });
  ASSERT_TRUE(megatron);
  EXPECT_EQ(megatron->Integer("tensor"), 8);
  EXPECT_EQ(ErrorOf(megatron->Integer("pipeline")),
            "job.json: source.layout.megatron.pipeline: expected an integer, got a string");
  EXPECT_EQ(ErrorOf(megatron->Integer("expert")),
            "job.json: source.layout.megatron: field 'expert' is missing; add it");
}

TEST(JsonCursorTest, PlacesAreThePathsOfSet) {
  const JsonDocument document =
      Parsed(R"({"a": [[1, 2], [{"b": 3}, 4]], "lm_head.weight": {"": [true]}, "a-b_9": 5})");
  const JsonCursor root(document);
  EXPECT_EQ(root.Place(), "job.json");
  const JsonCursor inner = root.Elements("a")->at(1).Elements()->at(0);
  EXPECT_EQ(inner.Place(), "job.json: a.1.0");
  EXPECT_EQ(inner.Find("b")->Place(), "job.json: a.1.0.b");
  EXPECT_EQ(root.Elements("a")->at(1).Elements()->at(1).Place(), "job.json: a.1.1");
  EXPECT_EQ(root.Find("lm_head.weight")->Elements("")->at(0).Place(),
            "job.json: \"lm_head.weight\".\"\".0");
  EXPECT_EQ(root.Find("a-b_9")->Place(), "job.json: a-b_9");
}

TEST(JsonCursorTest, WithoutADocumentNameThePathStandsAlone) {
  Result<JsonDocument> document = ParseJson(R"({"a": 1})", "");
  ASSERT_TRUE(document);
  EXPECT_EQ(JsonCursor(*document).Find("a")->Place(), "a");
}

TEST(JsonCursorTest, UnknownFieldsNameTheNearest) {
  const JsonDocument document = Parsed(R"({"vllm": {"tensr": 8}})");
  const JsonCursor root(document);
  EXPECT_TRUE(root.ExpectFields({"vllm", "megatron"}));
  EXPECT_EQ(ErrorOf(root.Find("vllm")->ExpectFields({"pipeline", "tensor"})),
            "job.json: vllm: unknown field 'tensr'; did you mean 'tensor'?");
  EXPECT_EQ(ErrorOf(root.Find("vllm")->ExpectFields({"data", "expert"})),
            "job.json: vllm: unknown field 'tensr'; known are 'data', 'expert'");
  EXPECT_EQ(ErrorOf(root.Find("vllm")->Find("tensr")->ExpectFields({"a"})),
            "job.json: vllm.tensr: expected an object, got an integer");
}

TEST(JsonCursorTest, WrongTypesAreNamed) {
  const JsonDocument document = Parsed(
      R"({"null": null, "bool": true, "integer": 1, "number": 2.5, "string": "s", "array": [], )"
      R"("object": {}, "huge": 1e30})");
  const JsonCursor root(document);
  EXPECT_EQ(ErrorOf(root.Bool("integer")), "job.json: integer: expected a boolean, got an integer");
  EXPECT_EQ(ErrorOf(root.Integer("number")), "job.json: number: expected an integer, got 2.5");
  EXPECT_EQ(ErrorOf(root.Integer("huge")),
            "job.json: huge: expected an integer of 64 bits, got 1e+30");
  EXPECT_EQ(ErrorOf(root.Integer("bool")), "job.json: bool: expected an integer, got a boolean");
  EXPECT_EQ(ErrorOf(root.Number("string")), "job.json: string: expected a number, got a string");
  EXPECT_EQ(ErrorOf(root.String("array")), "job.json: array: expected a string, got an array");
  EXPECT_EQ(ErrorOf(root.Elements("object")), "job.json: object: expected an array, got an object");
  EXPECT_EQ(ErrorOf(root.Find("array")->Members()),
            "job.json: array: expected an object, got an array");
  EXPECT_EQ(ErrorOf(root.Find("array")->Integer("x")),
            "job.json: array: expected an object, got an array");
  EXPECT_EQ(ErrorOf(root.Integer("null")), "job.json: null: expected an integer, got null");
}

TEST(JsonCursorTest, IntegersKeepToTheirRange) {
  const JsonDocument document = Parsed(R"({"gpus": 80, "zero": 0})");
  const JsonCursor root(document);
  EXPECT_EQ(root.Integer("gpus", {1, 80}), 80);
  EXPECT_EQ(ErrorOf(root.Integer("gpus", {1, 72})), "job.json: gpus: must be from 1 to 72, got 80");
  EXPECT_EQ(ErrorOf(root.Integer("zero", kPositiveInteger)),
            "job.json: zero: must be at least 1, got 0");
  EXPECT_EQ(ErrorOf(root.Integer("gpus", {.max = 7})), "job.json: gpus: must be at most 7, got 80");
}

TEST(JsonCursorTest, NumbersKeepToTheirRange) {
  const JsonDocument document = Parsed(R"({"zero": 0, "half": 0.5, "minus": -1})");
  const JsonCursor root(document);
  EXPECT_EQ(root.Number("half", {0, 1, true}), 0.5);
  EXPECT_EQ(root.Number("zero", kNotNegativeNumber), 0.0);
  EXPECT_EQ(ErrorOf(root.Number("zero", {0, 1, true})),
            "job.json: zero: must be above 0 and at most 1, got 0");
  EXPECT_EQ(ErrorOf(root.Number("minus", kNotNegativeNumber)),
            "job.json: minus: must be at least 0, got -1");
}

TEST(JsonCursorTest, AbsentFieldsTakeTheirDefaultsAndPresentOnesAreChecked) {
  const JsonDocument document = Parsed(
      R"({"t": 2, "f": false, "n": 1.5, "s": "x", "i": [1, 2], "l": ["a"], "bad": [1, "b"]})");
  const JsonCursor root(document);
  EXPECT_EQ(root.IntegerOr("t", 7), 2);
  EXPECT_EQ(root.IntegerOr("absent", 7), 7);
  EXPECT_EQ(root.BoolOr("f", true), false);
  EXPECT_EQ(root.BoolOr("absent", true), true);
  EXPECT_EQ(root.NumberOr("n", 3), 1.5);
  EXPECT_EQ(root.NumberOr("absent", 3), 3.0);
  EXPECT_EQ(root.StringOr("s", "y"), "x");
  EXPECT_EQ(root.StringOr("absent", "y"), "y");
  EXPECT_EQ(root.IntegersOrNone("i"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(root.IntegersOrNone("absent"), (std::vector<std::int64_t>{}));
  EXPECT_EQ(root.StringsOrNone("l"), (std::vector<std::string>{"a"}));
  EXPECT_EQ(root.StringsOrNone("absent"), (std::vector<std::string>{}));
  EXPECT_EQ(root.ElementsOrNone("absent")->size(), 0u);
  EXPECT_EQ(root.Find("n")->AsNumber(), 1.5);
  EXPECT_EQ(root.Find("i")->AsNumbers(), (std::vector<double>{1, 2}));
  EXPECT_EQ(ErrorOf(root.IntegersOrNone("bad")),
            "job.json: bad.1: expected an integer, got a string");
  EXPECT_EQ(ErrorOf(root.StringsOrNone("bad")),
            "job.json: bad.0: expected a string, got an integer");
}

TEST(JsonCursorTest, ANullIsAValueUnlessAskedOtherwise) {
  const JsonDocument document = Parsed(R"({"q_lora_rank": null})");
  const JsonCursor root(document);
  EXPECT_TRUE(root.Has("q_lora_rank"));
  EXPECT_FALSE(root.FindUnlessNull("q_lora_rank"));
  EXPECT_EQ(ErrorOf(root.IntegerOr("q_lora_rank", 1)),
            "job.json: q_lora_rank: expected an integer, got null");
}

TEST(JsonCursorTest, MembersComeInDocumentOrder) {
  const JsonDocument document = Parsed(R"({"z": 1, "a": 2, "m": 3})");
  std::string names;
  const auto members = JsonCursor(document).Members();
  ASSERT_TRUE(members);
  for (const auto& [name, value] : *members) names += name;
  EXPECT_EQ(names, "zam");
}

TEST(PathSegmentTest, FloodsNoErrorLine) {
  EXPECT_EQ(PathSegment("tensor"), "tensor");
  EXPECT_EQ(PathSegment("a.b"), "\"a.b\"");
  EXPECT_LT(PathSegment(std::string(100000, 'x')).size(), 210u);
}

}  // namespace
}  // namespace reshard
