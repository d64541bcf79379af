#include "compiler/layout/name_pattern.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace reshard {

Result<NamePattern> NamePattern::Parse(std::string_view text) {
  NamePattern pattern;
  pattern.text_ = text;
  const auto add_text = [&](char character) {
    if (pattern.parts_.empty() || pattern.parts_.back().kind != Part::Kind::kText) {
      pattern.parts_.push_back({Part::Kind::kText, ""});
    }
    pattern.parts_.back().text += character;
  };
  const auto fail = [&](const std::string& reason) {
    return InputError("", "pattern '" + pattern.text_ + "': " + reason);
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '*') {
      pattern.has_star_ = true;
      if (!pattern.parts_.empty() && pattern.parts_.back().kind == Part::Kind::kStar) continue;
      pattern.parts_.push_back({Part::Kind::kStar, ""});
    } else if (text[at] == '{') {
      const std::size_t close = text.find('}', at);
      if (close == std::string_view::npos) return fail("'{' without '}'");
      const std::string name(text.substr(at + 1, close - at - 1));
      if (name.empty()) return fail("'{}' has no name");
      if (name.find('{') != std::string::npos) return fail("'{' inside '{..}'");
      if (std::find(pattern.pieces_.begin(), pattern.pieces_.end(), name) !=
          pattern.pieces_.end()) {
        return fail("{" + name + "} stands twice in it");
      }
      pattern.pieces_.push_back(name);
      pattern.parts_.push_back({Part::Kind::kPiece, ""});
      at = close;
    } else if (text[at] == '}') {
      return fail("'}' without '{'");
    } else {
      add_text(text[at]);
    }
  }
  return pattern;
}

// Whether parts [part, ..) fit name[at, ..). `failed` remembers (part, at) pairs that did not, so
// that no pair is tried twice.
bool NamePattern::MatchFrom(std::size_t part, std::string_view name, std::size_t at,
                            std::vector<bool>& failed,
                            std::vector<std::string_view>& values) const {
  if (part == parts_.size()) return at == name.size();
  const std::size_t state = part * (name.size() + 1) + at;
  if (failed[state]) return false;
  bool fits = false;
  switch (parts_[part].kind) {
    case Part::Kind::kText: {
      const std::string& text = parts_[part].text;
      fits = name.substr(at).starts_with(text) &&
             MatchFrom(part + 1, name, at + text.size(), failed, values);
      break;
    }
    case Part::Kind::kStar:
      for (std::size_t end = at; !fits && end <= name.size(); ++end) {
        fits = MatchFrom(part + 1, name, end, failed, values);
      }
      break;
    case Part::Kind::kPiece:
      for (std::size_t end = at + 1; !fits && end <= name.size() && name[end - 1] != '.'; ++end) {
        values.push_back(name.substr(at, end - at));
        fits = MatchFrom(part + 1, name, end, failed, values);
        if (!fits) values.pop_back();
      }
      break;
  }
  failed[state] = !fits;
  return fits;
}

std::optional<std::vector<std::string_view>> NamePattern::Match(std::string_view name) const {
  std::vector<std::string_view> values;
  // Most names fail on the text at one end: say so before anything is allocated.
  if (!parts_.empty()) {
    const Part& first = parts_.front();
    const Part& last = parts_.back();
    if (first.kind == Part::Kind::kText && !name.starts_with(first.text)) return std::nullopt;
    if (last.kind == Part::Kind::kText && !name.ends_with(last.text)) return std::nullopt;
    if (parts_.size() == 1 && first.kind == Part::Kind::kStar) return values;
  }
  std::vector<bool> failed(parts_.size() * (name.size() + 1), false);
  if (!MatchFrom(0, name, 0, failed, values)) return std::nullopt;
  return values;
}

bool NamePattern::Matches(std::string_view name) const { return Match(name).has_value(); }

std::string NamePattern::Fill(std::span<const std::string_view> values) const {
  std::string name;
  std::size_t next = 0;
  for (const Part& part : parts_) {
    if (part.kind == Part::Kind::kText) name += part.text;
    if (part.kind == Part::Kind::kPiece) name += values[next++];
  }
  return name;
}

bool PieceLess(std::string_view a, std::string_view b) {
  const auto is_number = [](std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  const bool a_is_number = is_number(a);
  const bool b_is_number = is_number(b);
  if (a_is_number != b_is_number) return a_is_number;
  if (!a_is_number) return a < b;
  // By value without a limit of digits: fewer digits after the zeros in front, then bytewise.
  const auto digits = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of('0'), text.size()));
  };
  const std::string_view x = digits(a);
  const std::string_view y = digits(b);
  if (x.size() != y.size()) return x.size() < y.size();
  if (x != y) return x < y;
  return a < b;
}

}  // namespace reshard
