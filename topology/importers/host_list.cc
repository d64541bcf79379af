#include "topology/importers/host_list.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "foundation/checked_arithmetic.h"
#include "topology/importers/quotation.h"

namespace reshard {
namespace {

struct NumberRangeText {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t width = 0;  // digits at least, zeros in front
};

// Fixed text, or the numbers of a bracket.
struct Piece {
  std::string text;
  std::vector<NumberRangeText> ranges;  // empty: fixed text
};

// At commas outside brackets; none where brackets do not match.
std::optional<std::vector<std::string_view>> SplitOutside(std::string_view text) {
  std::vector<std::string_view> parts;
  bool inside = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == ']') {
      if (inside == (text[i] == '[')) return std::nullopt;
      inside = !inside;
    } else if (text[i] == ',' && !inside) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  if (inside) return std::nullopt;
  parts.push_back(text.substr(begin));
  return parts;
}

std::optional<std::int64_t> Digits(std::string_view text) {
  const bool plain = !text.empty() && text.size() <= 18 &&
                     std::all_of(text.begin(), text.end(),
                                 [](unsigned char digit) { return std::isdigit(digit) != 0; });
  return plain ? WholeInteger(text) : std::nullopt;
}

std::optional<NumberRangeText> ParseRange(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view first_text = text.substr(0, dash);
  const std::optional<std::int64_t> first = Digits(first_text);
  const std::optional<std::int64_t> last =
      dash == std::string_view::npos ? first : Digits(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return NumberRangeText{*first, *last, first_text.size()};
}

std::optional<std::vector<NumberRangeText>> ParseRanges(std::string_view inside) {
  std::vector<NumberRangeText> ranges;
  while (true) {
    const std::size_t comma = inside.find(',');
    const std::optional<NumberRangeText> range = ParseRange(inside.substr(0, comma));
    if (!range) return std::nullopt;
    ranges.push_back(*range);
    if (comma == std::string_view::npos) return ranges;
    inside.remove_prefix(comma + 1);
  }
}

// The pieces of one comma-separated part; `wrong` is the bracket that is no list of numbers.
std::vector<Piece> Pieces(std::string_view part, std::string& wrong) {
  std::vector<Piece> pieces;
  while (!part.empty()) {
    if (part.front() != '[') {
      const std::size_t end = std::min(part.find('['), part.size());
      pieces.push_back({std::string(part.substr(0, end)), {}});
      part.remove_prefix(end);
      continue;
    }
    const std::size_t end = part.find(']');
    std::optional<std::vector<NumberRangeText>> ranges = ParseRanges(part.substr(1, end - 1));
    if (!ranges) {
      wrong = part.substr(0, end + 1);
      return {};
    }
    pieces.push_back({"", *std::move(ranges)});
    part.remove_prefix(end + 1);
  }
  return pieces;
}

// How many names the pieces make; none beyond 64 bits.
std::optional<std::int64_t> CountNames(const std::vector<Piece>& pieces) {
  std::optional<std::int64_t> count = 1;
  for (const Piece& piece : pieces) {
    if (piece.ranges.empty()) continue;
    std::optional<std::int64_t> numbers = 0;
    for (const NumberRangeText& range : piece.ranges) {
      if (numbers) numbers = CheckedAdd(*numbers, range.last - range.first + 1);
    }
    if (!numbers || !count) return std::nullopt;
    count = CheckedMultiply(*count, *numbers);
  }
  return count;
}

std::string Padded(std::int64_t number, std::size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

std::vector<std::string> Names(const std::vector<Piece>& pieces) {
  std::vector<std::string> names = {""};
  for (const Piece& piece : pieces) {
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      if (piece.ranges.empty()) longer.push_back(name + piece.text);
      for (const NumberRangeText& range : piece.ranges) {
        for (std::int64_t number = range.first; number <= range.last; ++number) {
          longer.push_back(name + Padded(number, range.width));
        }
      }
    }
    names = std::move(longer);
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> ExpandHostList(std::string_view text, const std::string& place,
                                                std::int64_t most) {
  const std::optional<std::vector<std::string_view>> parts = SplitOutside(text);
  if (!parts) return InputError(place, "brackets do not match in " + Quoted(text));
  std::vector<std::string> names;
  for (const std::string_view part : *parts) {
    if (part.empty()) return InputError(place, "an empty name in the list " + Quoted(text));
    std::string wrong;
    const std::vector<Piece> pieces = Pieces(part, wrong);
    if (pieces.empty()) {
      return InputError(place,
                        Quoted(wrong) + " is no list of ascending ranges such as [001-016,020]");
    }
    const std::optional<std::int64_t> count = CountNames(pieces);
    if (!count || *count > most - static_cast<std::int64_t>(names.size())) {
      return InputError(place,
                        "more than " + std::to_string(most) + " names in the list " + Quoted(text));
    }
    std::vector<std::string> more = Names(pieces);
    std::move(more.begin(), more.end(), std::back_inserter(names));
  }
  return names;
}

}  // namespace reshard
