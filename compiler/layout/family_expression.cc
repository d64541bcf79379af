#include "compiler/layout/family_expression.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

std::optional<std::int64_t> AsWhole(const JsonValue& value) {
  if (const std::int64_t* integer = value.AsInteger()) return *integer;
  if (const bool* truth = value.AsBool()) return *truth ? 1 : 0;
  return std::nullopt;
}

// Equality as a config reads: true is 1.
bool Equal(const JsonValue& a, const JsonValue& b) {
  const std::optional<std::int64_t> left = AsWhole(a);
  const std::optional<std::int64_t> right = AsWhole(b);
  if (left && right) return *left == *right;
  return a == b;
}

}  // namespace

tl::unexpected<Error> Expression::Fail(std::string reason) const {
  return InputError(place_, "in '" + text_ + "': " + std::move(reason));
}

Result<std::int64_t> Expression::IntegerOf(std::int32_t index, const ExpressionScope& scope) const {
  const Result<JsonValue> value = EvaluateNode(index, scope);
  if (!value) return tl::unexpected(value.error());
  const std::optional<std::int64_t> whole = AsWhole(*value);
  if (!whole) return Fail("expected an integer, got " + std::string(value->KindName()));
  return *whole;
}

Result<std::int64_t> Expression::EvaluateInteger(const ExpressionScope& scope) const {
  return IntegerOf(static_cast<std::int32_t>(nodes_.size()) - 1, scope);
}

Result<JsonValue> Expression::Evaluate(const ExpressionScope& scope) const {
  return EvaluateNode(static_cast<std::int32_t>(nodes_.size()) - 1, scope);
}

Result<JsonValue> Expression::EvaluateNode(std::int32_t index, const ExpressionScope& scope) const {
  const Node& node = nodes_[static_cast<std::size_t>(index)];
  switch (node.kind) {
    case Kind::kLiteral:
      return node.literal;
    case Kind::kName:
      return scope.ValueOf(node.name);
    case Kind::kCall:
      return scope.Call(node.name, node.argument);
    case Kind::kArray: {
      JsonValue::Array elements;
      for (const std::int32_t operand : node.operands) {
        Result<JsonValue> element = EvaluateNode(operand, scope);
        if (!element) return element;
        elements.push_back(*std::move(element));
      }
      return JsonValue(std::move(elements));
    }
    case Kind::kNot:
    case Kind::kNegate: {
      const Result<std::int64_t> operand = IntegerOf(node.operands[0], scope);
      if (!operand) return tl::unexpected(operand.error());
      if (node.kind == Kind::kNot) return JsonValue(*operand == 0 ? 1 : 0);
      if (*operand == std::numeric_limits<std::int64_t>::min()) return Fail("exceeds 64 bits");
      return JsonValue(-*operand);
    }
    // The operand that does not decide is not evaluated: a condition may guard a field that some
    // configs lack.
    case Kind::kChoice: {
      const Result<std::int64_t> condition = IntegerOf(node.operands[0], scope);
      if (!condition) return tl::unexpected(condition.error());
      return EvaluateNode(node.operands[*condition != 0 ? 1 : 2], scope);
    }
    case Kind::kOr:
    case Kind::kAnd: {
      const Result<std::int64_t> left = IntegerOf(node.operands[0], scope);
      if (!left) return tl::unexpected(left.error());
      const bool decided = (*left != 0) == (node.kind == Kind::kOr);
      if (decided) return JsonValue(*left != 0 ? 1 : 0);
      const Result<std::int64_t> right = IntegerOf(node.operands[1], scope);
      if (!right) return tl::unexpected(right.error());
      return JsonValue(*right != 0 ? 1 : 0);
    }
    default:
      return EvaluateBinary(node, scope);
  }
}

Result<JsonValue> Expression::EvaluateBinary(const Node& node, const ExpressionScope& scope) const {
  if (node.kind == Kind::kEqual || node.kind == Kind::kNotEqual || node.kind == Kind::kIn ||
      node.kind == Kind::kIndex) {
    const Result<JsonValue> left = EvaluateNode(node.operands[0], scope);
    if (!left) return left;
    const Result<JsonValue> right = EvaluateNode(node.operands[1], scope);
    if (!right) return right;
    if (node.kind == Kind::kEqual) return JsonValue(Equal(*left, *right) ? 1 : 0);
    if (node.kind == Kind::kNotEqual) return JsonValue(Equal(*left, *right) ? 0 : 1);
    const bool in = node.kind == Kind::kIn;
    if (const std::string* letters = left->AsString(); !in && letters != nullptr) {
      const std::optional<std::int64_t> at = AsWhole(*right);
      if (!at || *at < 0 || *at >= std::ssize(*letters)) {
        return Fail("index outside the text of " + std::to_string(letters->size()));
      }
      return JsonValue(std::string(1, (*letters)[static_cast<std::size_t>(*at)]));
    }
    const JsonValue::Array* elements = (in ? *right : *left).AsArray();
    if (elements == nullptr)
      return Fail(in ? "expected an array after in" : "expected an array or a text before [");
    if (in) {
      return JsonValue(std::any_of(elements->begin(), elements->end(),
                                   [&](const JsonValue& e) { return Equal(e, *left); })
                           ? 1
                           : 0);
    }
    const std::optional<std::int64_t> at = AsWhole(*right);
    if (!at || *at < 0 || *at >= static_cast<std::int64_t>(elements->size())) {
      return Fail("index outside the array of " + std::to_string(elements->size()));
    }
    return (*elements)[static_cast<std::size_t>(*at)];
  }
  const Result<std::int64_t> a = IntegerOf(node.operands[0], scope);
  if (!a) return tl::unexpected(a.error());
  const Result<std::int64_t> b = IntegerOf(node.operands[1], scope);
  if (!b) return tl::unexpected(b.error());
  std::optional<std::int64_t> result;
  switch (node.kind) {
    case Kind::kLess:
      return JsonValue(*a < *b ? 1 : 0);
    case Kind::kLessEqual:
      return JsonValue(*a <= *b ? 1 : 0);
    case Kind::kGreater:
      return JsonValue(*a > *b ? 1 : 0);
    case Kind::kGreaterEqual:
      return JsonValue(*a >= *b ? 1 : 0);
    case Kind::kAdd:
      result = CheckedAdd(*a, *b);
      break;
    case Kind::kSubtract: {
      std::int64_t difference = 0;
      if (!__builtin_sub_overflow(*a, *b, &difference)) result = difference;
      break;
    }
    case Kind::kMultiply:
      result = CheckedMultiply(*a, *b);
      break;
    default: {
      if (*b == 0) return Fail("division by zero");
      if (*b == -1) {  // the one quotient that can overflow
        result = node.kind == Kind::kRemainder ? 0 : CheckedMultiply(*a, -1);
        break;
      }
      if (node.kind == Kind::kRemainder) {
        result = *a % *b;
        break;
      }
      if (*a % *b != 0) {
        return Fail(std::to_string(*a) + " is not divisible by " + std::to_string(*b));
      }
      result = *a / *b;
    }
  }
  if (!result) return Fail("exceeds 64 bits");
  return JsonValue(*result);
}

std::vector<std::string> Expression::Names() const {
  std::vector<std::string> names;
  for (const Node& node : nodes_) {
    if (node.kind == Kind::kName) names.push_back(node.name);
  }
  return names;
}

std::vector<std::pair<std::string, std::string>> Expression::Calls() const {
  std::vector<std::pair<std::string, std::string>> calls;
  for (const Node& node : nodes_) {
    if (node.kind == Kind::kCall) calls.emplace_back(node.name, node.argument);
  }
  return calls;
}

}  // namespace reshard
