// Expressions of a family file: shapes and conditions in terms of a model's config fields.
//
//   "num_attention_heads * head_dim"    "layer >= first_k_dense_replace && !(layer in
//   mlp_only_layers)"
//
// Values are 64-bit integers, strings and arrays, as in config.json; true and false are 1 and 0.
// Operators, loosest first:  c ? a : b   ||   &&   == != < <= > >= in   + -   * / %   ! -   a[i]
// Literals: 12, 'text', [1, 2]. Names are config fields or indices of a pattern and may have dots.
// a[i] of a text is the text of one letter.
// `/` must divide exactly: a shape that does not is a fault of the config, not to be rounded away.
// Functions take names only; which there are is the scope's to say: has(field), rows(role), ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_value.h"

namespace reshard {

// What the names and functions of an expression mean.
class ExpressionScope {
 public:
  virtual ~ExpressionScope() = default;
  virtual Result<JsonValue> ValueOf(std::string_view name) const = 0;
  virtual Result<JsonValue> Call(std::string_view function, std::string_view argument) const = 0;
};

class Expression {
 public:
  // `place` names the expression in errors. At most 1000 bytes and 64 levels.
  static Result<Expression> Parse(std::string_view text, std::string_view place);

  // Overflow, division by zero or with a remainder, operands of the wrong kind, indices out of
  // range and whatever the scope refuses are errors at `place`.
  Result<JsonValue> Evaluate(const ExpressionScope& scope) const;
  Result<std::int64_t> EvaluateInteger(const ExpressionScope& scope) const;

  const std::string& text() const { return text_; }
  // The field and index names it mentions, function arguments not among them, in order of mention.
  std::vector<std::string> Names() const;
  // The calls it makes: function and argument.
  std::vector<std::pair<std::string, std::string>> Calls() const;

 private:
  friend class ExpressionParser;
  enum class Kind : std::uint8_t {
    kLiteral,
    kName,
    kCall,
    kArray,
    kIndex,
    kNot,
    kNegate,
    kChoice,
    kOr,
    kAnd,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kIn,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kRemainder,
  };
  struct Node {
    Kind kind = Kind::kLiteral;
    JsonValue literal{};                   // of kLiteral
    std::string name{};                    // of kName; the function of kCall
    std::string argument{};                // of kCall
    std::vector<std::int32_t> operands{};  // indices into nodes_
  };

  Result<JsonValue> EvaluateNode(std::int32_t index, const ExpressionScope& scope) const;
  Result<JsonValue> EvaluateBinary(const Node& node, const ExpressionScope& scope) const;
  Result<std::int64_t> IntegerOf(std::int32_t index, const ExpressionScope& scope) const;
  tl::unexpected<Error> Fail(std::string reason) const;

  std::string text_;
  std::string place_;
  std::vector<Node> nodes_;  // operands before those who use them; the last is the whole
};

}  // namespace reshard
