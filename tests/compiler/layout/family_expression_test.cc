#include "compiler/layout/family_expression.h"

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class MapScope : public ExpressionScope {
 public:
  explicit MapScope(std::map<std::string, JsonValue, std::less<>> values)
      : values_(std::move(values)) {}
  Result<JsonValue> ValueOf(std::string_view name) const override {
    const auto found = values_.find(name);
    if (found == values_.end()) return InputError("scope", std::string(name) + " is missing");
    return found->second;
  }
  Result<JsonValue> Call(std::string_view function, std::string_view argument) const override {
    return JsonValue(std::string(function) + " of " + std::string(argument));
  }

 private:
  std::map<std::string, JsonValue, std::less<>> values_;
};

const MapScope& Scope() {
  static const MapScope kScope({{"heads", 64},
                                {"dim", 128},
                                {"layer", 3},
                                {"text.size", 7},
                                {"yes", true},
                                {"kinds", JsonValue::Array{"full", "sliding"}},
                                {"dense", JsonValue::Array{1, 3}}});
  return kScope;
}

std::int64_t ValueOf(std::string_view text) {
  const Result<Expression> expression = Expression::Parse(text, "family.json");
  EXPECT_TRUE(expression) << ToString(expression.error());
  if (!expression) return -1;
  const Result<std::int64_t> value = expression->EvaluateInteger(Scope());
  EXPECT_TRUE(value) << ToString(value.error());
  return value.value_or(-1);
}

std::string ErrorOf(std::string_view text) {
  const Result<Expression> expression = Expression::Parse(text, "family.json");
  if (!expression) return ToString(expression.error());
  const Result<std::int64_t> value = expression->EvaluateInteger(Scope());
  return value ? "none" : ToString(value.error());
}

TEST(Expression, OperatorsBindAsInC) {
  EXPECT_EQ(ValueOf("heads * dim"), 8192);
  EXPECT_EQ(ValueOf("1 + 2 * 3"), 7);
  EXPECT_EQ(ValueOf("(1 + 2) * 3"), 9);
  EXPECT_EQ(ValueOf("10 - 4 - 3"), 3);  // from the left
  EXPECT_EQ(ValueOf("24 / 4 / 3"), 2);
  EXPECT_EQ(ValueOf("7 % 4 + 1"), 4);
  EXPECT_EQ(ValueOf("-2 * -3"), 6);
  EXPECT_EQ(ValueOf("1 + 1 == 2 && 3 < 4"), 1);
  EXPECT_EQ(ValueOf("1 == 2 || 2 >= 2 && 0"), 0);
  EXPECT_EQ(ValueOf("!0 + 1"), 2);
  EXPECT_EQ(ValueOf("layer <= 2 ? 10 : layer == 3 ? 20 : 30"), 20);
  EXPECT_EQ(ValueOf("text.size"), 7);
  EXPECT_EQ(ValueOf("yes + 1"), 2);  // true is 1
  EXPECT_EQ(ValueOf("5!=4"), 1);
}

TEST(Expression, ArraysAndStrings) {
  EXPECT_EQ(ValueOf("layer in dense"), 1);
  EXPECT_EQ(ValueOf("2 in dense"), 0);
  EXPECT_EQ(ValueOf("layer in []"), 0);
  EXPECT_EQ(ValueOf("layer in [2, layer]"), 1);
  EXPECT_EQ(ValueOf("kinds[1] == 'sliding'"), 1);
  EXPECT_EQ(ValueOf("kinds[layer - 3] != 'full'"), 0);
  EXPECT_EQ(ValueOf("dense[0] + dense[1]"), 4);
  EXPECT_THAT(ErrorOf("kinds[2]"), HasSubstr("index outside the array of 2"));
  EXPECT_THAT(ErrorOf("kinds[0] * 2"), HasSubstr("expected an integer, got a string"));
  EXPECT_THAT(ErrorOf("1 in 2"), HasSubstr("expected an array"));
}

// The operand that does not decide may be of fields that a config lacks.
TEST(Expression, OperandsThatDoNotDecideAreNotEvaluated) {
  EXPECT_EQ(ValueOf("0 && absent"), 0);
  EXPECT_EQ(ValueOf("1 || absent"), 1);
  EXPECT_EQ(ValueOf("1 ? 5 : absent"), 5);
  EXPECT_THAT(ErrorOf("1 && absent"), HasSubstr("absent is missing"));
}

TEST(Expression, FaultsOfArithmeticAreErrors) {
  EXPECT_THAT(ErrorOf("7 / 2"), HasSubstr("family.json: in '7 / 2': 7 is not divisible by 2"));
  EXPECT_THAT(ErrorOf("7 / 0"), HasSubstr("division by zero"));
  EXPECT_THAT(ErrorOf("7 % 0"), HasSubstr("division by zero"));
  EXPECT_THAT(ErrorOf("9223372036854775807 + 1"), HasSubstr("exceeds 64 bits"));
  EXPECT_THAT(ErrorOf("4611686018427387904 * 2"), HasSubstr("exceeds 64 bits"));
  // The most negative integer divided by -1 is the one quotient that overflows.
  EXPECT_THAT(ErrorOf("(-9223372036854775807 - 1) / -1"), HasSubstr("exceeds 64 bits"));
  EXPECT_EQ(ValueOf("(-9223372036854775807 - 1) % -1"), 0);
  EXPECT_THAT(ErrorOf("-(-9223372036854775807 - 1)"), HasSubstr("exceeds 64 bits"));
}

TEST(Expression, FaultsOfSyntaxAreErrors) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("ends where a value is expected"));
  EXPECT_THAT(ErrorOf("1 +"), HasSubstr("ends where a value is expected"));
  EXPECT_THAT(ErrorOf("(1"), HasSubstr("expected ')'"));
  EXPECT_THAT(ErrorOf("1 2"), HasSubstr("unexpected '2'"));
  EXPECT_THAT(ErrorOf("1 $ 2"), HasSubstr("unexpected '$'"));
  EXPECT_THAT(ErrorOf("'full"), HasSubstr("without its closing quote"));
  EXPECT_THAT(ErrorOf("1 ? 2"), HasSubstr("expected ':'"));
  EXPECT_THAT(ErrorOf("kinds[1"), HasSubstr("expected ']'"));
  EXPECT_THAT(ErrorOf("[1 2]"), HasSubstr("expected ',' or ']'"));
  EXPECT_THAT(ErrorOf("rows(1 + 2)"), HasSubstr("expected ')' after the name"));
  EXPECT_THAT(ErrorOf("12ab"), HasSubstr("'12ab' is no 64-bit integer"));
  EXPECT_THAT(ErrorOf("99999999999999999999"), HasSubstr("is no 64-bit integer"));
}

TEST(Expression, DepthAndLengthAreBounded) {
  EXPECT_THAT(ErrorOf(std::string(200, '(') + "1" + std::string(200, ')')),
              HasSubstr("nested over 64 levels"));
  EXPECT_THAT(ErrorOf(std::string(500, '!') + "1"), HasSubstr("nested over 64 levels"));
  EXPECT_THAT(ErrorOf(std::string(1001, '1')), HasSubstr("longer than 1000 bytes"));
}

// A name that begins like the word operator is a name.
TEST(Expression, InIsAWord) {
  const Result<Expression> expression = Expression::Parse("layer in index", "family.json");
  ASSERT_TRUE(expression);
  EXPECT_THAT(expression->Names(), ElementsAre("layer", "index"));
  EXPECT_THAT(ErrorOf("layer index"), HasSubstr("unexpected 'i'"));
}

TEST(Expression, CallsTakeNames) {
  const Result<Expression> expression =
      Expression::Parse("rows(attention.q) == layers() ? 1 : heads", "family.json");
  ASSERT_TRUE(expression);
  EXPECT_THAT(expression->Calls(), ElementsAre(Pair("rows", "attention.q"), Pair("layers", "")));
  EXPECT_THAT(expression->Names(), ElementsAre("heads"));
  EXPECT_EQ(ValueOf("rows(attention.q) == 'rows of attention.q'"), 1);
}

}  // namespace
}  // namespace reshard
