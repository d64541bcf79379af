#include "compiler/layout/explicit_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/compiler/layout/explicit_text.h"
#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

using testing::HasSubstr;

TEST(ExplicitWordsTest, Refusals) {
  const Model model = ModelOf(R"json({"t": {"shape": [4, 2], "dtype": "BF16"},
                                  "u": {"shape": [2], "dtype": "F32"}})json");
  EXPECT_EQ(
      Refusal(model, R"json({"meshes": {"m": {"axes": [["x", 2]]}},
      "tensors": [{"match": "t", "mesh": "m", "placements": ["R"]}]})json",
              2),
      "layout.json: no rule of tensors matches tensor u; add a rule; \"match\": \"*\" takes the "
      "rest");
  EXPECT_EQ(
      Refusal(model, R"json({"meshes": {"m": {"axes": [["x", 2]]}},
      "tensors": [{"match": "*", "mesh": "m", "placements": ["P"]}]})json",
              2),
      "layout.json: tensors.0.placements.0: placement 'P' is partial: its ranks hold summands, "
      "not bytes of the tensor; reduce the tensor first and say R or S(dim)");
  EXPECT_EQ(Refusal(model, R"json({"meshes": {"m": {"axes": [["x", 2]]}},
      "tensors": [{"match": "*", "mesh": "m", "placements": ["S(1)"]}]})json",
                    2),
            "layout.json: tensors.0: tensor u: a placement cuts dim 1 of 1 dims");
  EXPECT_EQ(Refusal(model, R"json({"meshes": {"m": {"axes": [["x", 3]]}}})json", 2),
            "layout.json: meshes.m: the axes have 3 places, but the mesh has 2 ranks; make the "
            "product of the axes the number of ranks");
  EXPECT_EQ(Refusal(model, R"json({"meshes": {"m": {"axes": [["x", 1]], "ranks": "2"}}})json", 2),
            "layout.json: meshes.m.ranks: index 2 is out of range: there are 2, numbered from 0");
  EXPECT_THAT(
      Refusal(model, R"json({"tensors": [{"match": "*", "mesh": "n", "placements": []}]})json", 2),
      HasSubstr("tensors.0.mesh: there is no mesh 'n'"));
  EXPECT_THAT(Refusal(model, R"json({"tensrs": []})json", 2), HasSubstr("unknown field 'tensrs'"));
  EXPECT_THAT(Refusal(model, R"json({"meshes": {"m": {"axes": [["x", 2]]}},
      "tensors": [{"match": "*", "mesh": "m", "placements": ["R"], "splt": "chunk"}]})json",
                      2),
              HasSubstr("unknown field 'splt'"));
  EXPECT_THAT(Refusal(model, R"json({"meshes": {"m": {"axes": [["x", 2]]}},
      "tensors": [{"match": "*", "mesh": "m", "placements": ["R"], "split": "even"}]})json",
                      2),
              HasSubstr("'even' is no split"));
  EXPECT_THAT(Refusal(model, R"json({"meshes": {"m": {"axes": [["x", 2]]}},
      "tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"], "order": []}]})json",
                      2),
              HasSubstr("axis 'x' cuts and is missing here"));
}

}  // namespace
}  // namespace reshard
