#include "compiler/layout/explicit_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/compiler/layout/explicit_text.h"
#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kModel = R"json({"a": {"shape": [4], "dtype": "BF16"},
                                       "b": {"shape": [2], "dtype": "BF16"},
                                       "c": {"shape": [2, 2], "dtype": "BF16"}})json";

// A layout of two ranks: all tensors whole on both, and one parameter.
std::string With(const std::string& parameter) {
  return R"json({"meshes": {"m": {"axes": [["x", 2]]}},
               "tensors": [{"match": "*", "mesh": "m", "placements": ["R"]}],
               "parameters": [)json" +
         parameter + "]}";
}

TEST(ExplicitValueTest, PartsNestAndStepsFollowEachOther) {
  const Model model = ModelOf(kModel);
  // a as [2, 2], turned, beside c, turned: rows a0 a2 | c0 c2 and a1 a3 | c1 c3.
  const GroupLayout group = Build(model, With(R"json({"name": "p", "concat": 1, "parts": [
        {"parts": ["a"], "then": [{"splitDim": [0, 2]}, {"transpose": [1, 0]}]},
        {"parts": ["c"], "then": [{"transpose": [1, 0]}]}]})json"),
                                  2);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 1), "p"),
              ElementsAre("a[0]", "a[2]", "c[0]", "c[2]", "a[1]", "a[3]", "c[1]", "c[3]"));
}

TEST(ExplicitValueTest, StepsBeforeAndBehindTheCut) {
  const Model model = ModelOf(kModel);
  const GroupLayout group = Build(model, With(R"json({"name": "p", "parts": ["a"],
        "then": [{"take": [0, 3, 2, 1, 0]}, {"slice": [0, 0, 3]}], "mesh": "m",
        "placements": ["S(0)"], "local": [{"pad": [0, 4]}]})json"),
                                  2);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 0), "p"),
              ElementsAre("a[3]", "a[2]", "-", "-"));
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 1), "p"), ElementsAre("a[1]", "-", "-", "-"));
}

TEST(ExplicitValueTest, ZerosAreDeclaredAndPaddingIsNot) {
  const Model model = ModelOf(kModel);
  const GroupLayout group = Build(model, With(R"json({"name": "p", "concat": 0, "parts": [
        {"zeros": [1]}, "b", {"padding": [1]}]})json"),
                                  2);
  const RankLayout& layout = LayoutOf(group, 0);
  EXPECT_THAT(Contents(model.tensors, layout, "p"), ElementsAre("-", "b[0]", "b[1]", "-"));
  ASSERT_EQ(layout.zeros.size(), 1);
  EXPECT_EQ(layout.zeros[0].offset, 0);
}

TEST(ExplicitValueTest, ZeroOnAllRanksButSome) {
  const Model model = ModelOf(kModel);
  const GroupLayout group = Build(model, With(R"json({"name": "p", "parts": ["b"], "mesh": "m",
        "placements": ["R"], "zeroExcept": {"x": [1]}})json"),
                                  2);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 0), "p"), ElementsAre("-", "-"));
  ASSERT_EQ(LayoutOf(group, 0).zeros.size(), 1);
  EXPECT_EQ(LayoutOf(group, 0).zeros[0].extent[0], 2);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 1), "p"), ElementsAre("b[0]", "b[1]"));
  EXPECT_TRUE(LayoutOf(group, 1).zeros.empty());
}

TEST(ExplicitValueTest, AParameterOfZerosAlone) {
  const Model model = ModelOf(kModel);
  const GroupLayout group = Build(model, With(R"json({"name": "p", "parts": [{"zeros": [3]}],
        "dtype": "F32", "mesh": "m", "placements": ["S(0)"]})json"),
                                  2);
  EXPECT_EQ(LayoutOf(group, 0).zeros[0].extent[0], 2);
  EXPECT_THAT(Refusal(model, With(R"json({"name": "p", "parts": [{"zeros": [3]}]})json"), 2),
              HasSubstr("has no tensor, so nothing says its dtype; add \"dtype\""));
}

TEST(ExplicitValueTest, RefusalsNameThePlace) {
  const Model model = ModelOf(kModel);
  const auto refusal = [&](const std::string& rest) {
    return Refusal(model, With(R"json({"name": "p", )json" + rest + "}"), 2);
  };
  EXPECT_THAT(refusal(R"json("parts": ["c"], "then": [{"transpose": [0, 0]}])json"),
              HasSubstr("parameter p: then.0: transpose is no order of 2 dims"));
  EXPECT_THAT(refusal(R"json("concat": 0, "parts": ["a", {"parts": ["b"],
                      "then": [{"slice": [0, 1, 3]}]}])json"),
              HasSubstr("parts.1.then.0: slice of [1, 3), dim 0 has 2"));
  EXPECT_THAT(refusal(R"json("parts": ["a"], "then": [{"take": [0, 4]}])json"),
              HasSubstr("take of index 4, dim 0 has 4"));
  EXPECT_THAT(refusal(R"json("parts": ["a"], "then": [{"pad": [0, 3]}])json"),
              HasSubstr("padded to 3, dim 0 has 4"));
  EXPECT_THAT(refusal(R"json("parts": ["a"], "then": [{"repeat": [0, 0]}])json"),
              HasSubstr("repeated 0 times"));
  EXPECT_THAT(refusal(R"json("parts": ["a"], "then": [{"splitDim": [0, 3]}])json"),
              HasSubstr("a dim of 4 does not divide by 3"));
  EXPECT_THAT(refusal(R"json("parts": ["a"], "then": [{"mergeDims": 0}])json"),
              HasSubstr("dim 0 of 1 dim"));
  EXPECT_THAT(refusal(R"json("parts": ["a"], "then": [{"slice": [0, 1]}])json"),
              HasSubstr("expected a dim and then 2 numbers"));
  EXPECT_THAT(refusal(R"json("parts": ["a"], "then": [{"slice": [0, 1, 2], "pad": [0, 9]}])json"),
              HasSubstr("a step is one word with what it needs"));
  EXPECT_THAT(refusal(R"json("parts": ["a", "b"], "interleave": 0)json"),
              HasSubstr("interleave and groups belong together"));
  EXPECT_THAT(refusal(R"json("parts": ["a", "b"], "stack": 0)json"),
              HasSubstr("its parts differ in shape"));
  EXPECT_THAT(refusal(R"json("parts": ["a", "b"], "stack": 0, "concat": 0)json"),
              HasSubstr("parts are put together in one way"));
  EXPECT_THAT(refusal(R"json("parts": ["a"], "local": [])json"),
              HasSubstr("local belongs to a mesh and placements"));
  EXPECT_THAT(refusal(R"json("parts": ["a"], "mesh": "m", "placements": ["R"],
                      "zeroExcept": {"y": [0]})json"),
              HasSubstr("the mesh has no axis 'y'"));
  EXPECT_THAT(refusal(R"json("parts": ["a"], "mesh": "m", "placements": ["R"],
                      "then": [{"repeat": [0, 5000000]}])json"),
              HasSubstr("too many pieces"));
}

}  // namespace
}  // namespace reshard
