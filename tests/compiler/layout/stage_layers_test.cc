#include "compiler/layout/stage_layers.h"

#include <array>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "layout_contents.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array<std::int64_t, 3> kEven{2, 2, 1};

TEST(StageLayers, CountsBecomeFirstLayers) {
  const JsonDocument none = Json("{}");
  EXPECT_THAT(*FirstLayers(JsonCursor(none), kEven, 5), ElementsAre(0, 2, 4, 5));
  const JsonDocument listed = Json(R"({"layersPerStage": [0, 5, 0]})");
  EXPECT_THAT(*FirstLayers(JsonCursor(listed), kEven, 5), ElementsAre(0, 0, 5, 5));
}

TEST(StageLayers, ListsThatDoNotFitAreRefused) {
  const auto error_of = [](const std::string& text) {
    const JsonDocument document = Json(text);
    const auto first = FirstLayers(JsonCursor(document), kEven, 5);
    return first ? "none" : ToString(first.error());
  };
  EXPECT_THAT(error_of(R"({"layersPerStage": [5]})"), HasSubstr("expected 3 counts, got 1"));
  EXPECT_THAT(error_of(R"({"layersPerStage": [5, 5, 5]})"),
              HasSubstr("do not add up to the model's 5 layers"));
  EXPECT_THAT(error_of(R"({"layersPerStage": [6, 0, -1]})"), HasSubstr("layersPerStage"));
}

}  // namespace
}  // namespace reshard
