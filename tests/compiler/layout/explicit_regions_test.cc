#include "compiler/layout/explicit_regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/compiler/layout/explicit_text.h"
#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ExplicitRegionsTest, RegionsWithStridesTranspose) {
  const Model model = ModelOf(R"json({"t": {"shape": [2, 3], "dtype": "BF16"}})json");
  const GroupLayout group = Build(model, R"json({
      "regions": [{"rank": 0, "tensor": "t", "box": [[0, 2], [0, 3]], "parameter": "p",
                   "shape": [3, 2], "at": [0, 0], "strides": [1, 2]}]})json",
                                  1);
  EXPECT_THAT(Contents(model.tensors, LayoutOf(group, 0), "p"),
              ElementsAre("t[0]", "t[3]", "t[1]", "t[4]", "t[2]", "t[5]"));
}

TEST(ExplicitRegionsTest, RefusalsOfRegions) {
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
