#include "compiler/layout/explicit_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

GroupLayout Build(const Model& model, std::string_view layout, std::int64_t rank_count) {
  const JsonDocument document = Json(layout, "layout.json");
  Result<GroupLayout> group = BuildExplicitLayout(model, JsonCursor(document), rank_count);
  if (!group) {
    ADD_FAILURE() << ToString(group.error());
    return {};
  }
  return std::move(*group);
}

std::string Refusal(const Model& model, std::string_view layout, std::int64_t rank_count) {
  const JsonDocument document = Json(layout, "layout.json");
  const Result<GroupLayout> group = BuildExplicitLayout(model, JsonCursor(document), rank_count);
  return group ? "accepted" : ToString(group.error());
}

TEST(ExplicitLayoutTest, FirstMatchingRuleWins) {
  const Model model = ModelOf(R"json({"a.o_proj.weight": {"shape": [2, 4], "dtype": "BF16"},
                                  "a.norm": {"shape": [2], "dtype": "F32"}})json");
  const GroupLayout group = Build(model, R"json({
      "meshes": {"dense": {"axes": [["dp", 2], ["tp", 2]]}},
      "tensors": [{"match": "*.o_proj.weight", "mesh": "dense", "placements": ["R", "S(1)"]},
                  {"match": "*", "mesh": "dense", "placements": ["R", "R"]}]})json",
                                  4);
  // [2, 4] by columns over tp: tp 1 has columns 2, 3.
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 3), "a.o_proj.weight"),
              ElementsAre("2", "3", "6", "7"));
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 3), "a.norm"), ElementsAre("0", "1"));
  EXPECT_EQ(LayoutOf(group, 3).parameters[0].name, "a.norm");
  EXPECT_EQ(LayoutOf(group, 3).parameters[0].dtype, DType::kF32);
}

TEST(ExplicitLayoutTest, ReplicasShareALayout) {
  const Model model = ModelOf(R"json({"t": {"shape": [8], "dtype": "BF16"}})json");
  const GroupLayout group = Build(model, R"json({
      "meshes": {"m": {"axes": [["dp", 32], ["tp", 4]]}},
      "tensors": [{"match": "*", "mesh": "m", "placements": ["R", "S(0)"]}]})json",
                                  128);
  EXPECT_EQ(group.layouts.size(), 4U);
  EXPECT_EQ(group.layout_of_rank[5], group.layout_of_rank[125]);
  EXPECT_NE(group.layout_of_rank[5], group.layout_of_rank[6]);
}

TEST(ExplicitLayoutTest, RanksOutsideAMeshHoldNothingOfIt) {
  const Model model = ModelOf(R"json({"t": {"shape": [4], "dtype": "BF16"},
                                  "u": {"shape": [2], "dtype": "BF16"}})json");
  const GroupLayout group = Build(model, R"json({
      "meshes": {"pair": {"axes": [["x", 2]], "ranks": "3,1"}, "one": {"axes": [["x", 1]], "ranks": "0"}},
      "tensors": [{"match": "t", "mesh": "pair", "placements": ["S(0)"]},
                  {"match": "u", "mesh": "one", "placements": ["R"]}]})json",
                                  4);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 3), "t"), ElementsAre("0", "1"));
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 1), "t"), ElementsAre("2", "3"));
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 0), "u"), ElementsAre("0", "1"));
  EXPECT_TRUE(LayoutOf(group, 2).parameters.empty());
}

// Case C3: an empty shard keeps its other dims; a scalar is held whole.
TEST(ExplicitLayoutTest, EmptyShardsAndScalars) {
  const Model model = ModelOf(R"json({"rows": {"shape": [2, 3], "dtype": "BF16"},
                                  "none": {"shape": [0, 3], "dtype": "BF16"},
                                  "scalar": {"shape": [], "dtype": "F32"}})json");
  const GroupLayout group = Build(model, R"json({
      "meshes": {"m": {"axes": [["x", 8]]}},
      "tensors": [{"match": "scalar", "mesh": "m", "placements": ["R"]},
                  {"match": "*", "mesh": "m", "placements": ["S(0)"]}]})json",
                                  8);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 1), "rows"), ElementsAre("3", "4", "5"));
  EXPECT_THAT(ShapeOf(LayoutOf(group, 2), "rows"), ElementsAre(0, 3));
  EXPECT_THAT(ShapeOf(LayoutOf(group, 0), "none"), ElementsAre(0, 3));
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 7), "scalar"), ElementsAre("0"));
}

// Case C14: 4 and 5 dims, cut on several of them; dim 0 over 32, so that 32 sources hold what one
// uncut destination shard takes.
TEST(ExplicitLayoutTest, ManyDimsAndManyShards) {
  const Model model = ModelOf(R"json({"four": {"shape": [64, 2, 3, 4], "dtype": "BF16"},
                                  "five": {"shape": [96, 2, 2, 3, 4], "dtype": "BF16"}})json");
  const GroupLayout group = Build(model, R"json({
      "meshes": {"m": {"axes": [["x", 32], ["y", 2]]}},
      "tensors": [{"match": "four", "mesh": "m", "placements": ["S(0)", "S(3)"]},
                  {"match": "five", "mesh": "m", "placements": ["S(0)", "S(2)"]}]})json",
                                  64);
  EXPECT_EQ(group.layouts.size(), 64U);
  // Rank 7 is (3, 1): rows 6, 7 and the last dim's 2, 3 of [64, 2, 3, 4]; strides 24, 12, 4, 1.
  const RankLayout& layout = LayoutOf(group, 7);
  EXPECT_THAT(ShapeOf(layout, "four"), ElementsAre(2, 2, 3, 2));
  const std::vector<std::string> four = Contents(model.tensors, layout, "four");
  EXPECT_EQ(four.front(), std::to_string(6 * 24 + 2));
  EXPECT_EQ(four.back(), std::to_string(7 * 24 + 12 + 2 * 4 + 3));
  // Rows 9..11 and index 1 of dim 2 of [96, 2, 2, 3, 4]; strides 48, 24, 12, 4, 1.
  EXPECT_THAT(ShapeOf(layout, "five"), ElementsAre(3, 2, 1, 3, 4));
  const std::vector<std::string> five = Contents(model.tensors, layout, "five");
  EXPECT_EQ(five.front(), std::to_string(9 * 48 + 12));
  EXPECT_EQ(five.back(), std::to_string(11 * 48 + 24 + 12 + 2 * 4 + 3));
}

TEST(ExplicitLayoutTest, PartsAreCutApartThenJoined) {
  const Model model = ModelOf(R"json({"layers.0.q": {"shape": [4, 1], "dtype": "BF16"},
                                  "layers.0.k": {"shape": [2, 1], "dtype": "BF16"},
                                  "layers.0.v": {"shape": [2, 1], "dtype": "BF16"}})json");
  const GroupLayout group = Build(model, R"json({
      "meshes": {"m": {"axes": [["tp", 2]]}},
      "tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}],
      "parameters": [{"name": "layers.{i}.qkv", "concat": 0,
                      "parts": ["layers.{i}.q", "layers.{i}.k", "layers.{i}.v"]}]})json",
                                  2);
  ASSERT_EQ(LayoutOf(group, 1).parameters.size(), 1U);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 1), "layers.0.qkv"),
              ElementsAre("layers.0.q[2]", "layers.0.q[3]", "layers.0.k[1]", "layers.0.v[1]"));
}

TEST(ExplicitLayoutTest, ParameterWithPlacementsIsJoinedThenCut) {
  const Model model = ModelOf(R"json({"q": {"shape": [4], "dtype": "BF16"},
                                  "k": {"shape": [2], "dtype": "BF16"}})json");
  const GroupLayout group = Build(model, R"json({
      "meshes": {"m": {"axes": [["tp", 2]]}},
      "parameters": [{"name": "qk", "concat": 0, "parts": ["q", "k"], "mesh": "m",
                      "placements": ["S(0)"]}]})json",
                                  2);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 0), "qk"),
              ElementsAre("q[0]", "q[1]", "q[2]"));
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 1), "qk"),
              ElementsAre("q[3]", "k[0]", "k[1]"));
}

TEST(ExplicitLayoutTest, PieceOfThePartsAloneRunsInAscendingOrder) {
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

TEST(ExplicitLayoutTest, ASharedPartMayStandInEveryParameter) {
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

TEST(ExplicitLayoutTest, RegionsWinOverRules) {
  const Model model = ModelOf(R"json({"t": {"shape": [4, 2], "dtype": "BF16"},
                                  "u": {"shape": [2], "dtype": "BF16"}})json");
  const GroupLayout group = Build(model, R"json({
      "meshes": {"m": {"axes": [["x", 2]]}},
      "tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}],
      "regions": [{"rank": 1, "tensor": "t", "box": [[1, 3], [0, 2]], "parameter": "p",
                   "shape": [3, 3], "at": [1, 1]}]})json",
                                  2);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 0), "t"), ElementsAre("absent"));
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 0), "p"), ElementsAre("absent"));
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 1), "p"),
              ElementsAre("-", "-", "-", "-", "t[2]", "t[3]", "-", "t[4]", "t[5]"));
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 1), "u"), ElementsAre("1"));
}

TEST(ExplicitLayoutTest, RegionsWithStridesTranspose) {
  const Model model = ModelOf(R"json({"t": {"shape": [2, 3], "dtype": "BF16"}})json");
  const GroupLayout group = Build(model, R"json({
      "regions": [{"rank": 0, "tensor": "t", "box": [[0, 2], [0, 3]], "parameter": "p",
                   "shape": [3, 2], "at": [0, 0], "strides": [1, 2]}]})json",
                                  1);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 0), "p"),
              ElementsAre("t[0]", "t[3]", "t[1]", "t[4]", "t[2]", "t[5]"));
}

TEST(ExplicitLayoutTest, NotHeldTensorsAreLeftOut) {
  const Model model = ModelOf(R"json({"mtp.w": {"shape": [2], "dtype": "BF16"},
                                  "w": {"shape": [2], "dtype": "BF16"}})json");
  const GroupLayout group = Build(model, R"json({
      "meshes": {"m": {"axes": [["x", 1]]}},
      "tensors": [{"match": "mtp.*", "held": false},
                  {"match": "*", "mesh": "m", "placements": ["R"]}]})json",
                                  1);
  ASSERT_EQ(LayoutOf(group, 0).parameters.size(), 1U);
  EXPECT_EQ(LayoutOf(group, 0).parameters[0].name, "w");
}

// The order of meshes and of fields must not count.
TEST(ExplicitLayoutTest, OrderOfNamesDoesNotCount) {
  const Model model = ModelOf(R"json({"t": {"shape": [6, 4], "dtype": "BF16"},
                                  "u": {"shape": [4], "dtype": "BF16"}})json");
  const GroupLayout a = Build(model, R"json({
      "meshes": {"m": {"axes": [["x", 2], ["y", 2]]}, "n": {"axes": [["z", 4]]}},
      "tensors": [{"match": "t", "mesh": "m", "placements": ["S(0)", "S(1)"]},
                  {"match": "u", "mesh": "n", "placements": ["S(0)"]}]})json",
                              4);
  const GroupLayout b = Build(model, R"json({
      "tensors": [{"placements": ["S(0)", "S(1)"], "mesh": "m", "match": "t"
  },
                  {"mesh": "n", "match": "u", "placements": ["S(0)"]}],
      "meshes": {
  "n" : {"axes" : [[ "z", 4 ]]}, "m" : { "axes" : [ [ "x", 2 ], [ "y", 2 ] ] }
  }
  })json",
                              4);
  for (std::size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(LayoutOf(a, rank), LayoutOf(b, rank));
}

TEST(ExplicitLayoutTest, Refusals) {
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

TEST(ExplicitLayoutTest, RefusalsOfParameters) {
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

TEST(ExplicitLayoutTest, ARankWithSomePartsOnlyIsRefused) {
  const Model model = ModelOf(R"json({"a": {"shape": [4], "dtype": "BF16"},
                                  "b": {"shape": [4], "dtype": "BF16"}})json");
  EXPECT_EQ(Refusal(model, R"json({
      "meshes": {"m": {"axes": [["x", 2]]}, "one": {"axes": [["x", 1]], "ranks": "0"}},
      "tensors": [{"match": "a", "mesh": "one", "placements": ["R"]},
                  {"match": "*", "mesh": "m", "placements": ["R"]}],
      "parameters": [{"name": "p", "concat": 0, "parts": ["a", "b"]}]})json",
                    2),
            "layout.json: parameters.0: parameter p: rank 1 of the group holds part b but not part "
            "a; place all parts on the same ranks");
}

TEST(ExplicitLayoutTest, RefusalsOfRegions) {
  const Model model = ModelOf(R"json({"t": {"shape": [4, 2], "dtype": "BF16"},
                                  "f": {"shape": [4], "dtype": "F32"}})json");
  const auto with = [&](const std::string& region) {
    return Refusal(model,
                   R"json({"meshes": {"m": {"axes": [["x", 2]]}},
                              "tensors": [{"match": "*", "mesh": "m", "placements": ["R"]}],
                              "regions": [)json" +
                       region + "]}",
                   2);
  };
  EXPECT_THAT(with(R"json({"rank": 2, "tensor": "t", "box": [[0, 4], [0, 2]], "parameter": "p",
                       "shape": [4, 2], "at": [0, 0]})json"),
              HasSubstr("regions.0.rank"));
  EXPECT_THAT(
      with(
          R"json({"rank": 0, "tensor": "x", "box": [], "parameter": "p", "shape": [], "at": []})json"),
      HasSubstr("the model has no tensor 'x'"));
  EXPECT_THAT(with(R"json({"rank": 0, "tensor": "t", "box": [[0, 5], [0, 2]], "parameter": "p",
                       "shape": [8, 2], "at": [0, 0]})json"),
              HasSubstr("box ends at 5 in dim 0, tensor t has 4"));
  EXPECT_THAT(with(R"json({"rank": 0, "tensor": "t", "box": [[0, 4], [0, 2]], "parameter": "p",
                       "shape": [4, 2], "at": [1, 0]})json"),
              HasSubstr("the box leaves parameter p"));
  EXPECT_THAT(with(R"json({"rank": 0, "tensor": "t", "box": [[0, 4], [0, 2]], "parameter": "p",
                       "shape": [8], "at": [1], "strides": [2, 1]})json"),
              HasSubstr("the box leaves parameter p"));
  EXPECT_THAT(with(R"json({"rank": 0, "tensor": "t", "box": [[0, 4], [0, 2]], "parameter": "p",
                       "shape": [8], "at": [0]})json"),
              HasSubstr("box has 2 dims, shape has 1"));
  EXPECT_THAT(with(R"json({"rank": 0, "tensor": "t", "box": [[0, 4], [0, 2]], "parameter": "p",
                       "shape": [8], "at": [0], "strides": [1, 1]})json"),
              HasSubstr("strides let elements of the box coincide"));
  EXPECT_THAT(with(R"json({"rank": 0, "tensor": "t", "box": [[3, 1], [0, 2]], "parameter": "p",
                       "shape": [4, 2], "at": [0, 0]})json"),
              HasSubstr("regions.0.box.0: expected [start, stop)"));
  EXPECT_THAT(with(R"json({"rank": 0, "tensor": "t", "box": [[0, 4], [0, 2]], "parameter": "p",
                       "shape": [4, 2], "at": [0, 0]},
                      {"rank": 0, "tensor": "f", "box": [[0, 4]], "parameter": "p",
                       "shape": [4, 2], "at": [0, 0], "strides": [2]})json"),
              HasSubstr("parameter p is BF16, tensor f is F32"));
  EXPECT_THAT(with(R"json({"rank": 0, "tensor": "t", "box": [[0, 4], [0, 2]], "parameter": "p",
                       "shape": [9223372036854775807, 2], "at": [0, 0]})json"),
              HasSubstr("shape does not fit 64 bits"));
}

}  // namespace
}  // namespace reshard
