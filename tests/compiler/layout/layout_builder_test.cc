#include "compiler/layout/layout_builder.h"

#include <gtest/gtest.h>

#include <string>

#include "compiler/layout/explicit_layout.h"

namespace reshard {
namespace {

TEST(LayoutBuilderTest, KindsAreFoundByName) {
  EXPECT_EQ(FindLayoutBuilder("explicit"), BuildExplicitLayout);
  EXPECT_NE(FindLayoutBuilder("megatron"), nullptr);
  EXPECT_NE(FindLayoutBuilder("vllm"), nullptr);
  EXPECT_EQ(FindLayoutBuilder("Explicit"), nullptr);
  EXPECT_EQ(FindLayoutBuilder(""), nullptr);
}

TEST(LayoutBuilderTest, EveryNamedKindHasABuilder) {
  std::string rest = LayoutKinds() + ", ";
  int count = 0;
  for (std::size_t end = rest.find(", "); end != std::string::npos; end = rest.find(", ")) {
    EXPECT_NE(FindLayoutBuilder(rest.substr(0, end)), nullptr) << rest.substr(0, end);
    rest.erase(0, end + 2);
    ++count;
  }
  EXPECT_GE(count, 3);
}

TEST(LayoutBuilderTest, AtPutsItsPlaceBeforeTheErrorsOwn) {
  const auto fail = [](const std::string& place) -> Result<int> {
    return InputError(place, "reason");
  };
  EXPECT_EQ(At("job.json", fail("p")).error().place, "job.json: p");
  EXPECT_EQ(At("job.json", fail("")).error().place, "job.json");
  EXPECT_EQ(*At("job.json", Result<int>(7)), 7);
}

}  // namespace
}  // namespace reshard
