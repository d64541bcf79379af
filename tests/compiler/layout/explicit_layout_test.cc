#include "compiler/layout/explicit_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/compiler/layout/explicit_text.h"
#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

}  // namespace
}  // namespace reshard
