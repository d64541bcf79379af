#include <string>

#include "compiler/layout/family.h"
#include "foundation/strict_json.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

Family TestFamily() {
  const Result<JsonDocument> document = ParseJson(
      R"({"name": "mine", "layers": "1", "experts": "1", "fields": {},
          "tensors": [
            {"name": "norm.weight", "role": "norm.final", "shape": ["1"]},
            {"name": "h.{layer}.up.weight", "role": "mlp.up", "shape": ["1", "1"],
             "quantized": true},
            {"name": "h.{layer}.e.{expert}.up.weight", "role": "expert.up", "shape": ["1", "1"]},
            {"name": "h.{layer}.e.0.shared.weight", "role": "shared_expert.up",
             "shape": ["1", "1"]}]})",
      "mine.json");
  EXPECT_TRUE(document) << ToString(document.error());
  Result<Family> family = ReadFamily(JsonCursor(*document));
  EXPECT_TRUE(family) << ToString(family.error());
  return *std::move(family);
}

TEST(NameMatcher, IndicesComeFromTheirPlaces) {
  const NameMatcher matcher(TestFamily());
  const auto norm = matcher.Match("norm.weight");
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm->pattern, 0);
  EXPECT_EQ(norm->layer, -1);
  const auto expert = matcher.Match("h.12.e.345.up.weight");
  ASSERT_TRUE(expert);
  EXPECT_EQ(expert->pattern, 2);
  EXPECT_EQ(expert->layer, 12);
  EXPECT_EQ(expert->expert, 345);
  EXPECT_FALSE(expert->scale);
}

TEST(NameMatcher, QuantizedWeightsHaveScales) {
  const NameMatcher matcher(TestFamily());
  const auto scale = matcher.Match("h.7.up.weight_scale_inv");
  ASSERT_TRUE(scale);
  EXPECT_EQ(scale->pattern, 1);
  EXPECT_EQ(scale->layer, 7);
  EXPECT_TRUE(scale->scale);
  EXPECT_FALSE(matcher.Match("h.7.up.weight")->scale);
  EXPECT_FALSE(matcher.Match("norm.weight_scale_inv"));
}

TEST(NameMatcher, NumbersInPatternsAreLiteral) {
  const NameMatcher matcher(TestFamily());
  EXPECT_EQ(matcher.Match("h.2.e.0.shared.weight")->pattern, 3);
  EXPECT_FALSE(matcher.Match("h.2.e.1.shared.weight"));
}

TEST(NameMatcher, OtherNamesAreUnknown) {
  const NameMatcher matcher(TestFamily());
  for (const char* name : {"", ".", "norm", "norm.weight.", "norm.weights", "h.x.up.weight",
                           "h.01.up.weight", "h.-1.up.weight", "h..up.weight", "h.1.2.up.weight",
                           "h.{layer}.up.weight", "h.99999999999999999999.up.weight"}) {
    EXPECT_FALSE(matcher.Match(name)) << name;
  }
}

}  // namespace
}  // namespace reshard
