#include "compiler/layout/family_fields.h"

#include <string>

#include "foundation/strict_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

class FieldScopeTest : public ::testing::Test {
 protected:
  FieldScopeTest() {
    const Result<JsonDocument> document = ParseJson(
        R"json({"name": "mine", "layers": "count",
            "fields": {
              "count": {"infer": "layers()"},
              "heads": {"infer": "rows(attention.q) / dim"},
              "dim": {"infer": "rows(attention.q) / heads", "default": "width / heads"},
              "width": {"infer": "columns(attention.q)"},
              "tied": {"infer": "!holds(lm_head)", "default": "0"},
              "text.size": {"default": "9"},
              "rank": {"default": "has(width) ? 1 : 2"},
              "alone": {}},
            "tensors": []})json",
        "mine.json");
    EXPECT_TRUE(document);
    Result<Family> family = ReadFamily(JsonCursor(*document));
    EXPECT_TRUE(family) << ToString(family.error());
    family_ = *std::move(family);
    shapes_.weight[static_cast<std::size_t>(Role::kAttentionQuery)] = {256, 512};
    shapes_.layers = 5;
  }

  // What `field` is by this config.
  std::int64_t ValueOf(const std::string& config, const std::string& field, bool shapes) const {
    const Result<JsonDocument> document = ParseJson(config, "config.json");
    EXPECT_TRUE(document);
    const FieldScope scope(family_, &document->root, shapes ? &shapes_ : nullptr, "config.json");
    const Result<std::int64_t> value = scope.Integer(field);
    EXPECT_TRUE(value) << ToString(value.error());
    return value.value_or(-1);
  }
  std::string ErrorOf(const std::string& config, const std::string& field, bool shapes) const {
    const Result<JsonDocument> document = ParseJson(config, "config.json");
    EXPECT_TRUE(document);
    const FieldScope scope(family_, &document->root, shapes ? &shapes_ : nullptr, "config.json");
    const Result<std::int64_t> value = scope.Integer(field);
    return value ? "none" : ToString(value.error());
  }

  Family family_;
  RoleShapes shapes_;
};

TEST_F(FieldScopeTest, ConfigThenTensorsThenDefault) {
  EXPECT_EQ(ValueOf(R"({"count": 7})", "count", true), 7);
  EXPECT_EQ(ValueOf("{}", "count", true), 5);
  EXPECT_EQ(ValueOf("{}", "width", true), 512);
  EXPECT_EQ(ValueOf("{}", "tied", true), 1);
  EXPECT_EQ(ValueOf("{}", "tied", false), 0);
  EXPECT_EQ(ValueOf(R"({"tied": true})", "tied", false), 1);
  // Hugging Face writes null for what is not set.
  EXPECT_EQ(ValueOf(R"({"count": null})", "count", true), 5);
}

TEST_F(FieldScopeTest, DotsLeadIntoObjects) {
  EXPECT_EQ(ValueOf(R"({"text": {"size": 3}})", "text.size", false), 3);
  EXPECT_EQ(ValueOf(R"({"text": {"other": 3}})", "text.size", false), 9);
  EXPECT_EQ(ValueOf(R"({"text": 3})", "text.size", false), 9);
}

// heads and dim ask each other: one of them must be given.
TEST_F(FieldScopeTest, FieldsThatAskEachOtherNeedOneGiven) {
  EXPECT_EQ(ValueOf(R"({"heads": 4})", "dim", true), 64);
  EXPECT_EQ(ValueOf(R"({"dim": 32})", "heads", true), 8);
  EXPECT_EQ(ValueOf(R"({"heads": 4, "width": 64})", "dim", false), 16);
  EXPECT_EQ(ErrorOf("{}", "heads", true),
            "config.json: config.heads is missing, and the tensors' shapes do not tell it; give "
            "config.heads");
}

TEST_F(FieldScopeTest, MissingFieldsNameThemselves) {
  EXPECT_EQ(ErrorOf("{}", "alone", false),
            "config.json: config.alone is missing; give config.alone");
  EXPECT_THAT(ErrorOf(R"({"alone": "x"})", "alone", false),
              HasSubstr("config.alone: expected an integer, got a string"));
}

// The family's file may be built into the program: whoever wrote the config has to find it.
TEST_F(FieldScopeTest, WhatAnExpressionCannotUseNamesTheModelFirst) {
  const Result<JsonDocument> document = ParseJson(R"({"alone": "x"})", "config.json");
  ASSERT_TRUE(document);
  const FieldScope scope(family_, &document->root, nullptr, "config.json");
  const auto error_of = [&scope](std::string_view text) {
    const Result<std::int64_t> value =
        scope.Evaluate(*Expression::Parse(text, "mine.json: tensors.0"));
    return value ? std::string("none") : ToString(value.error());
  };
  EXPECT_EQ(error_of("alone * 2"),
            "config.json: mine.json: tensors.0: in 'alone * 2': expected an integer, got a string");
  EXPECT_EQ(error_of("width"), "config.json: config.width is missing; give config.width");
  EXPECT_EQ(scope.Evaluate(*Expression::Parse("3 * 2", "mine.json")), 6);
}

TEST_F(FieldScopeTest, HasAsksTheConfig) {
  EXPECT_EQ(ValueOf(R"({"width": 1})", "rank", true), 1);
  EXPECT_EQ(ValueOf(R"({"width": null})", "rank", true), 2);
  EXPECT_EQ(ValueOf("{}", "rank", true), 2);
}

TEST_F(FieldScopeTest, CountsAreBounded) {
  const Result<JsonDocument> document =
      ParseJson(R"({"count": 100001, "alone": -1})", "config.json");
  ASSERT_TRUE(document);
  const FieldScope scope(family_, &document->root, nullptr, "config.json");
  const Result<std::int64_t> count = scope.Count(family_.layers, "layers");
  ASSERT_FALSE(count);
  EXPECT_THAT(ToString(count.error()), HasSubstr("100001 layers; expected 0 to 100000"));
  const Result<std::int64_t> none = scope.Count(std::nullopt, "layers");
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, 0);
  const Result<Expression> negative = Expression::Parse("alone", "mine.json");
  ASSERT_TRUE(negative);
  EXPECT_FALSE(scope.Count(*negative, "layers"));
}

}  // namespace
}  // namespace reshard
