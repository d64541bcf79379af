// Placements against PyTorch's own: dtensor_placements.json was written once by
// tests/oracles/dtensor_placements.py and says what every rank holds, element by element.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/layout/index_list.h"
#include "foundation/json_writer.h"
#include "tests/compiler/layout/explicit_text.h"
#include "tests/source_directory.h"

namespace reshard {
namespace {

using Longs = std::vector<std::int64_t>;

// The model of one tensor "t" of the case's shape.
Model ModelOfCase(const JsonCursor& golden) {
  JsonValue::Object tensor;
  tensor.emplace_back("shape", *golden.Field("shape")->value().AsArray());
  tensor.emplace_back("dtype", "I64");
  return ModelOf(CanonicalJson(JsonValue::Object{{"t", std::move(tensor)}}));
}

// The explicit layout that says what the case says.
std::string LayoutOfCase(const JsonCursor& golden) {
  const Longs sizes = *golden.Integers("axes");
  JsonValue::Array axes;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    axes.emplace_back(JsonValue::Array{"axis" + std::to_string(axis), sizes[axis]});
  }
  JsonValue::Object mesh = {{"axes", std::move(axes)}};
  JsonValue::Object rule = {{"match", "*"}, {"mesh", "m"}};
  if (*golden.String("kind") == "placements") {
    const Longs listed = *golden.Integers("ranks");
    std::string ranks;
    for (const std::int64_t rank : listed) {
      ranks += (ranks.empty() ? "" : ",") + std::to_string(rank);
    }
    mesh.emplace_back("ranks", ranks);
    rule.emplace_back("placements", golden.Field("placements")->value());
  } else {
    // FSDP2 cuts what tensor parallelism has left: storage is the truth, not its placements.
    const std::int64_t tp_dim = *golden.Integer("tp_dim");
    const std::string tp = tp_dim < 0 ? "R" : "S(" + std::to_string(tp_dim) + ")";
    rule.emplace_back("placements", JsonValue::Array{"S(0)", tp});
    rule.emplace_back("order", JsonValue::Array{"axis1", "axis0"});
  }
  return CanonicalJson(JsonValue::Object{{"meshes", JsonValue::Object{{"m", std::move(mesh)}}},
                                         {"tensors", JsonValue::Array{std::move(rule)}}});
}

// "0-2,5,4" written out.
std::vector<std::string> ElementsOf(const std::string& text, std::int64_t limit) {
  std::vector<std::string> elements;
  if (text.empty()) return elements;
  const std::vector<std::int32_t> listed = *ParseIndexList(text, limit);
  for (const std::int32_t element : listed) elements.push_back(std::to_string(element));
  return elements;
}

// What torch says rank holds: nothing, or a shape and elements.
void ExpectHeld(const JsonCursor& held, const Tensor& tensor, const RankLayout& layout) {
  if (held.value().IsNull()) {
    EXPECT_TRUE(layout.parameters.empty());
    return;
  }
  const std::vector<JsonCursor> shape_and_elements = *held.Elements();
  const std::vector<std::string> elements =
      ElementsOf(*shape_and_elements[1].AsString(), TensorBytes(tensor));
  const std::vector<std::string> contents = Contents({&tensor, 1}, layout, "t");
  EXPECT_EQ(contents, elements);
  // FSDP2 gives an empty shard the shape [0, 0] where the other dims are cut too.
  if (elements.empty()) return;
  EXPECT_EQ(ShapeOf(layout, "t"), *shape_and_elements[0].AsIntegers());
}

TEST(DTensorPlacementsTest, EveryRankHoldsWhatTorchSaysElementByElement) {
  const Result<JsonDocument> golden =
      ReadJsonFile(SourceDirectory() + "/tests/compiler/layout/dtensor_placements.json");
  ASSERT_TRUE(golden) << ToString(golden.error());
  int placements = 0;
  int storage = 0;
  const std::vector<JsonCursor> cases = *JsonCursor(*golden).Elements();
  for (const JsonCursor& one : cases) {
    SCOPED_TRACE(JsonLine(one.value()));
    ++(*one.String("kind") == "placements" ? placements : storage);
    const Model model = ModelOfCase(one);
    const GroupLayout group = Build(model, LayoutOfCase(one), *one.Integer("world"));
    const std::vector<JsonCursor> held = *one.Elements("held");
    ASSERT_EQ(group.layout_of_rank.size(), held.size());
    for (std::size_t rank = 0; rank < held.size(); ++rank) {
      ExpectHeld(held[rank], model.tensors[0], LayoutOf(group, rank));
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(placements, 400);
  EXPECT_EQ(storage, 37);
}

}  // namespace
}  // namespace reshard
