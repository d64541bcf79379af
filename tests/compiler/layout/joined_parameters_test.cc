#include "compiler/layout/joined_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/compiler/layout/explicit_text.h"
#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(JoinedParametersTest, PieceOfThePartsAloneRunsInAscendingOrder) {
  const Model model = ModelOf(R"json({"l.0.experts.10.up": {"shape": [1], "dtype": "BF16"},
                                  "l.0.experts.9.up": {"shape": [1], "dtype": "BF16"},
                                  "l.0.experts.2.up": {"shape": [1], "dtype": "BF16"},
                                  "l.1.experts.0.up": {"shape": [1], "dtype": "BF16"}})json");
  const GroupLayout group = Build(model, R"json({
      "meshes": {"m": {"axes": [["x", 1]]}},
      "tensors": [{"match": "*", "mesh": "m", "placements": ["R"]}],
      "parameters": [{"name": "l.{i}.up", "concat": 0, "parts": ["l.{i}.experts.{e}.up"]}]})json",
                                  1);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 0), "l.0.up"),
              ElementsAre("l.0.experts.2.up[0]", "l.0.experts.9.up[0]", "l.0.experts.10.up[0]"));
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 0), "l.1.up"),
              ElementsAre("l.1.experts.0.up[0]"));
}

TEST(JoinedParametersTest, ASharedPartMayStandInEveryParameter) {
  const Model model = ModelOf(R"json({"l.0.a": {"shape": [1], "dtype": "BF16"},
                                  "l.1.a": {"shape": [1], "dtype": "BF16"},
                                  "s": {"shape": [1], "dtype": "BF16"}})json");
  const GroupLayout group = Build(model, R"json({
      "meshes": {"m": {"axes": [["x", 1]]}},
      "tensors": [{"match": "*", "mesh": "m", "placements": ["R"]}],
      "parameters": [{"name": "l.{i}.as", "concat": 0, "parts": ["l.{i}.a", "s"]}]})json",
                                  1);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 0), "l.1.as"),
              ElementsAre("l.1.a[0]", "s[0]"));
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 0), "l.0.as"),
              ElementsAre("l.0.a[0]", "s[0]"));
}

TEST(JoinedParametersTest, RefusalsOfParameters) {
  const Model model = ModelOf(R"json({"l.0.a": {"shape": [4, 2], "dtype": "BF16"},
                                  "l.0.b": {"shape": [4, 3], "dtype": "BF16"},
                                  "l.1.a": {"shape": [4, 2], "dtype": "BF16"},
                                  "f": {"shape": [4, 2], "dtype": "F32"}})json");
  const auto with = [](const std::string& parameter) {
    return R"json({"meshes": {"m": {"axes": [["x", 2]]}, "one": {"axes": [["x", 1]], "ranks": "0"}},
               "tensors": [{"match": "f", "mesh": "one", "placements": ["R"]},
                           {"match": "*", "mesh": "m", "placements": ["R"]}],
               "parameters": [)json" +
           parameter + "]}";
  };
  EXPECT_THAT(Refusal(model, with(R"json({"name": "p", "parts": ["l.0.x"]})json"), 2),
              HasSubstr("part 'l.0.x' matches no tensor of the model"));
  EXPECT_THAT(
      Refusal(model,
              with(R"json({"name": "l.{i}.ab", "concat": 1, "parts": ["l.{i}.a", "l.{i}.b"]})json"),
              2),
      HasSubstr("part 'l.{i}.b' matches no tensor for i=1, where another part does"));
  EXPECT_THAT(Refusal(model, with(R"json({"name": "p", "parts": ["l.0.a", "l.0.b"]})json"), 2),
              HasSubstr("parameter p has 2 parts and no concat"));
  EXPECT_THAT(
      Refusal(model, with(R"json({"name": "p", "concat": 0, "parts": ["l.0.a", "l.0.b"]})json"), 2),
      HasSubstr("parameter p: its parts differ in shape beside the dim they are joined along"));
  EXPECT_THAT(
      Refusal(model, with(R"json({"name": "p", "concat": 2, "parts": ["l.0.a", "l.1.a"]})json"), 2),
      HasSubstr("parameter p: concat is dim 2 of 2 dims"));
  EXPECT_THAT(
      Refusal(model, with(R"json({"name": "p", "concat": 0, "parts": ["l.0.a", "f"]})json"), 2),
      HasSubstr("p: the parameter is BF16, but tensor f in it is F32"));
  EXPECT_THAT(Refusal(model, with(R"json({"name": "{j}", "parts": ["l.{i}.a"]})json"), 2),
              HasSubstr("no part has all pieces of the name '{j}'"));
  EXPECT_THAT(Refusal(model, with(R"json({"name": "l.1.a", "parts": ["l.0.a"]})json"), 2),
              HasSubstr("l.1.a: two parameters of one rank have this name"));
  EXPECT_THAT(Refusal(model, with(R"json({"name": "p*", "parts": ["l.0.a"]})json"), 2),
              HasSubstr("a name takes {piece} but no *"));
  EXPECT_THAT(Refusal(model, with(R"json({"name": "p", "parts": []})json"), 2),
              HasSubstr("a parameter without parts"));
}

}  // namespace
}  // namespace reshard
