// What tools/reshard_layout_dump.py wrote of a model that PyTorch cut
// (tests/oracles/layout_dump.py), read as any explicit layout, says of every rank what PyTorch
// stored there, element by element.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/layout/explicit_layout.h"
#include "layout_contents.h"
#include "tests/source_directory.h"

namespace reshard {
namespace {

TEST(LayoutDump, SaysWhatPyTorchStored) {
  const Result<JsonDocument> golden =
      ReadJsonFile(SourceDirectory() + "/tests/compiler/layout/layout_dump.json");
  ASSERT_TRUE(golden) << ToString(golden.error());
  const auto cases = JsonCursor(*golden).Elements("cases");
  ASSERT_TRUE(cases);
  ASSERT_EQ(cases->size(), 2U);
  int compared = 0;
  for (const JsonCursor& one : *cases) {
    const Result<Model> model = ReadModel(*one.Field("tensors"), Folder::Nowhere());
    ASSERT_TRUE(model) << ToString(model.error());
    const auto ranks = *one.Elements("held");
    const Result<GroupLayout> group =
        BuildExplicitLayout(*model, *one.Field("layout"), static_cast<std::int64_t>(ranks.size()));
    ASSERT_TRUE(group) << ToString(group.error());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto parameters = *ranks[rank].Members();
      EXPECT_EQ(LayoutOf(*group, rank).parameters.size(), parameters.size());
      for (const auto& [name, held] : parameters) {
        const auto shape_and_elements = *held.Elements();
        EXPECT_EQ(ShapeOf(LayoutOf(*group, rank), name), *shape_and_elements[0].AsIntegers())
            << name << " on rank " << rank;
        std::vector<std::string> elements;
        const std::vector<std::int64_t> indices = *shape_and_elements[1].AsIntegers();
        for (const std::int64_t index : indices) {
          elements.push_back(std::to_string(index));
        }
        EXPECT_EQ(Contents(model->tensors, LayoutOf(*group, rank), name), elements)
            << name << " on rank " << rank;
        ++compared;
      }
    }
  }
  // Seven parameters and buffers on eight ranks, twice.
  EXPECT_EQ(compared, 2 * 8 * 7);
}

}  // namespace
}  // namespace reshard
