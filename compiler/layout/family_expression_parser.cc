// The grammar of Expression: recursive descent, one function per level of binding.
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "compiler/layout/family_expression.h"

namespace reshard {

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, std::string_view place) {
    parsed_.text_ = text;
    parsed_.place_ = place;
    rest_ = parsed_.text_;
  }

  Result<Expression> Parse() {
    constexpr std::size_t kMaxBytes = 1000;
    if (rest_.size() > kMaxBytes) return Fail("longer than 1000 bytes");
    const Result<std::int32_t> root = Choice();
    if (!root) return tl::unexpected(root.error());
    SkipSpace();
    if (!rest_.empty()) return Fail("unexpected '" + std::string(rest_.substr(0, 1)) + "'");
    return std::move(parsed_);
  }

 private:
  using Kind = Expression::Kind;
  using Node = Expression::Node;
  struct Operator {
    std::string_view token;
    Kind kind;
  };

  tl::unexpected<Error> Fail(const std::string& reason) const {
    return InputError(parsed_.place_, "in '" + parsed_.text_ + "': " + reason);
  }

  void SkipSpace() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  bool Take(std::string_view token) {
    SkipSpace();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  // The word operator `in`, which must not swallow the start of a name.
  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (!rest_.starts_with(word)) return false;
    if (rest_.size() > word.size() && IsNameByte(rest_[word.size()])) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  static bool IsNameByte(char byte) {
    return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '_' || byte == '.';
  }

  std::int32_t Add(Node node) {
    parsed_.nodes_.push_back(std::move(node));
    return static_cast<std::int32_t>(parsed_.nodes_.size()) - 1;
  }

  Result<std::int32_t> Choice() {
    constexpr int kMaxDepth = 64;
    if (++depth_ > kMaxDepth) return Fail("nested over 64 levels");
    Result<std::int32_t> condition = Level(0);
    if (condition && Take("?")) {
      const Result<std::int32_t> yes = Choice();
      if (!yes) return yes;
      if (!Take(":")) return Fail("expected ':'");
      const Result<std::int32_t> no = Choice();
      if (!no) return no;
      condition = Add({.kind = Kind::kChoice, .operands = {*condition, *yes, *no}});
    }
    --depth_;
    return condition;
  }

  // Binary operators of level `level` and all tighter ones, left to right.
  Result<std::int32_t> Level(int level) {
    constexpr int kLevels = 5;
    if (level == kLevels) return Unary();
    Result<std::int32_t> left = Level(level + 1);
    while (left) {
      const std::optional<Kind> kind = TakeOperator(level);
      if (!kind) break;
      const Result<std::int32_t> right = Level(level + 1);
      if (!right) return right;
      left = Add({.kind = *kind, .operands = {*left, *right}});
    }
    return left;
  }

  std::optional<Kind> TakeOperator(int level) {
    static constexpr std::array<Operator, 1> kOr{{{"||", Kind::kOr}}};
    static constexpr std::array<Operator, 1> kAnd{{{"&&", Kind::kAnd}}};
    // Longer tokens first: "<=" is not "<".
    static constexpr std::array<Operator, 6> kCompare{{{"==", Kind::kEqual},
                                                       {"!=", Kind::kNotEqual},
                                                       {"<=", Kind::kLessEqual},
                                                       {">=", Kind::kGreaterEqual},
                                                       {"<", Kind::kLess},
                                                       {">", Kind::kGreater}}};
    static constexpr std::array<Operator, 2> kSum{{{"+", Kind::kAdd}, {"-", Kind::kSubtract}}};
    static constexpr std::array<Operator, 3> kProduct{
        {{"*", Kind::kMultiply}, {"/", Kind::kDivide}, {"%", Kind::kRemainder}}};
    static constexpr std::array<std::span<const Operator>, 5> kLevels{kOr, kAnd, kCompare, kSum,
                                                                      kProduct};
    for (const Operator& candidate : kLevels[static_cast<std::size_t>(level)]) {
      if (Take(candidate.token)) return candidate.kind;
    }
    constexpr int kCompareLevel = 2;
    if (level == kCompareLevel && TakeWord("in")) return Kind::kIn;
    return std::nullopt;
  }

  Result<std::int32_t> Unary() {
    constexpr int kMaxDepth = 64;
    if (++depth_ > kMaxDepth) return Fail("nested over 64 levels");
    SkipSpace();
    Result<std::int32_t> result = 0;
    if (rest_.starts_with("!") || rest_.starts_with("-")) {
      const Kind kind = rest_.front() == '!' ? Kind::kNot : Kind::kNegate;
      rest_.remove_prefix(1);
      const Result<std::int32_t> operand = Unary();
      if (!operand) return operand;
      result = Add({.kind = kind, .operands = {*operand}});
    } else {
      result = Postfix();
    }
    --depth_;
    return result;
  }

  Result<std::int32_t> Postfix() {
    Result<std::int32_t> value = Primary();
    while (value && Take("[")) {
      const Result<std::int32_t> at = Choice();
      if (!at) return at;
      if (!Take("]")) return Fail("expected ']'");
      value = Add({.kind = Kind::kIndex, .operands = {*value, *at}});
    }
    return value;
  }

  Result<std::int32_t> Primary() {
    SkipSpace();
    if (rest_.empty()) return Fail("ends where a value is expected");
    if (Take("(")) {
      Result<std::int32_t> inner = Choice();
      if (inner && !Take(")")) return Fail("expected ')'");
      return inner;
    }
    if (Take("[")) return Array();
    if (Take("'")) {
      const std::size_t end = rest_.find('\'');
      if (end == std::string_view::npos) return Fail("a string without its closing quote");
      const std::int32_t node =
          Add({.kind = Kind::kLiteral, .literal = JsonValue(rest_.substr(0, end))});
      rest_.remove_prefix(end + 1);
      return node;
    }
    std::size_t size = 0;
    while (size < rest_.size() && IsNameByte(rest_[size])) ++size;
    const std::string_view word = rest_.substr(0, size);
    if (word.empty()) return Fail("unexpected '" + std::string(rest_.substr(0, 1)) + "'");
    rest_.remove_prefix(size);
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) return Number(word);
    if (!Take("(")) return Add({.kind = Kind::kName, .name = std::string(word)});
    SkipSpace();
    std::size_t argument = 0;
    while (argument < rest_.size() && IsNameByte(rest_[argument])) ++argument;
    const std::int32_t call = Add({.kind = Kind::kCall,
                                   .name = std::string(word),
                                   .argument = std::string(rest_.substr(0, argument))});
    rest_.remove_prefix(argument);
    if (!Take(")"))
      return Fail("expected ')' after the name that '" + std::string(word) + "' takes");
    return call;
  }

  Result<std::int32_t> Array() {
    Node node{.kind = Kind::kArray};
    if (Take("]")) return Add(std::move(node));
    while (true) {
      const Result<std::int32_t> element = Choice();
      if (!element) return element;
      node.operands.push_back(*element);
      if (Take("]")) return Add(std::move(node));
      if (!Take(",")) return Fail("expected ',' or ']'");
    }
  }

  Result<std::int32_t> Number(std::string_view word) {
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (status != std::errc() || end != word.data() + word.size()) {
      return Fail("'" + std::string(word) + "' is no 64-bit integer");
    }
    return Add({.kind = Kind::kLiteral, .literal = JsonValue(value)});
  }

  Expression parsed_;
  std::string_view rest_;
  int depth_ = 0;
};

Result<Expression> Expression::Parse(std::string_view text, std::string_view place) {
  return ExpressionParser(text, place).Parse();
}

}  // namespace reshard
