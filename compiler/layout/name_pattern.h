// Patterns of tensor and parameter names: "*.layers.{i}.o_proj.weight".
//
// `*` stands for any characters, dots too, or none; `{name}` for a piece: one or more characters
// without a dot. Everything else stands for itself.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"

namespace reshard {

class NamePattern {
 public:
  // Errors (without a place): a brace without its partner, a piece without a name, a piece twice.
  static Result<NamePattern> Parse(std::string_view text);

  const std::string& text() const { return text_; }
  // The names of the pieces, in the order they stand in the text.
  const std::vector<std::string>& pieces() const { return pieces_; }
  bool HasStar() const { return has_star_; }

  // Whether the whole of `name` fits. Time grows with the product of both lengths at most.
  bool Matches(std::string_view name) const;
  // What each piece stands for, in the order of pieces(); the earlier ones as short as they can be.
  // None if `name` does not fit.
  std::optional<std::vector<std::string_view>> Match(std::string_view name) const;

  // The name with `values`, in the order of pieces(), in place of the pieces. Precondition: no
  // star.
  std::string Fill(std::span<const std::string_view> values) const;

 private:
  struct Part {
    enum class Kind { kText, kStar, kPiece } kind = Kind::kText;
    std::string text;  // of kText
  };
  bool MatchFrom(std::size_t part, std::string_view name, std::size_t at, std::vector<bool>& failed,
                 std::vector<std::string_view>& values) const;

  std::string text_;
  std::vector<Part> parts_;
  std::vector<std::string> pieces_;
  bool has_star_ = false;
};

// Order of what a piece stands for: numbers by value, before all else; all else bytewise.
bool PieceLess(std::string_view a, std::string_view b);

}  // namespace reshard
