#include "foundation/strict_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/text_file.h"

namespace reshard {
namespace {

// Builds a JsonValue from the parser's events, which come without recursion, and stops the parser
// at the first breach of the limits.
class DocumentBuilder {
 public:
  DocumentBuilder(const JsonLimits& limits, std::string_view text) : limits_(limits), text_(text) {}

  // The parser's side; names and signatures are nlohmann::json_sax's.
  bool null() { return Add(JsonValue()); }                        // NOLINT
  bool boolean(bool value) { return Add(value); }                 // NOLINT
  bool number_integer(std::int64_t value) { return Add(value); }  // NOLINT
  bool number_unsigned(std::uint64_t value) {                     // NOLINT
    if (std::in_range<std::int64_t>(value)) return Add(static_cast<std::int64_t>(value));
    return Add(static_cast<double>(value));
  }
  bool number_float(double value, const std::string&) { return Add(value); }  // NOLINT
  bool string(std::string& value) { return Add(std::move(value)); }           // NOLINT
  bool binary(std::vector<std::uint8_t>&) { return false; }                   // NOLINT: not in text
  bool start_object(std::size_t) { return Open(JsonValue::Object()); }        // NOLINT
  bool start_array(std::size_t) { return Open(JsonValue::Array()); }          // NOLINT
  bool key(std::string& name) {                                               // NOLINT
    open_.back().AsObject()->emplace_back().first = std::move(name);
    return true;
  }
  bool end_array() { return Close(); }  // NOLINT
  bool end_object() {                   // NOLINT
    if (const std::string* name = DuplicateKey(*open_.back().AsObject())) {
      return Refuse(PathOfOpen(), "field '" + name->substr(0, kLongestQuote) + "' stands twice",
                    "keep one");
    }
    return Close();
  }
  bool parse_error(std::size_t position, const std::string&,  // NOLINT
                   const nlohmann::detail::exception& exception) {
    // The library's text begins with its own tag and position, which ours replaces.
    std::string reason = exception.what();
    const std::size_t begin = reason.find(": ");
    const std::size_t tag_end = reason.find("] ");
    if (begin != std::string::npos) {
      reason.erase(0, begin + 2);
    } else if (tag_end != std::string::npos) {
      reason.erase(0, tag_end + 2);  // of a number beyond a double, which comes without position
    }
    if (reason.size() > kLongestQuote) reason = reason.substr(0, kLongestQuote) + "...";
    return Refuse(LineAndColumn(position), reason);
  }

  JsonValue TakeRoot() { return std::move(root_); }
  Error TakeError(const std::string& name) {
    if (error_.place.empty()) {
      error_.place = name;
    } else if (!name.empty()) {
      error_.place = name + ": " + error_.place;
    }
    return std::move(error_);
  }

 private:
  static constexpr std::size_t kLongestQuote = 200;

  bool Refuse(std::string place, std::string reason, std::string remedy = "") {
    error_ = Error{Fault::kInput, std::move(place), std::move(reason), std::move(remedy)};
    return false;
  }

  bool Count() {
    if (++value_count_ <= limits_.values) return true;
    return Refuse("", "more than " + std::to_string(limits_.values) + " values");
  }

  // Puts a finished value where the innermost open array or object awaits it.
  void Place(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (JsonValue::Array* array = open_.back().AsArray()) {
      array->push_back(std::move(value));
    } else {
      open_.back().AsObject()->back().second = std::move(value);
    }
  }

  bool Add(JsonValue value) {
    if (!Count()) return false;
    Place(std::move(value));
    return true;
  }

  bool Open(JsonValue container) {
    if (static_cast<std::int64_t>(open_.size()) >= limits_.depth) {
      return Refuse("", "nesting deeper than " + std::to_string(limits_.depth));
    }
    if (!Count()) return false;
    open_.push_back(std::move(container));
    return true;
  }

  bool Close() {
    JsonValue closed = std::move(open_.back());
    open_.pop_back();
    Place(std::move(closed));
    return true;
  }

  static const std::string* DuplicateKey(const JsonValue::Object& object) {
    std::vector<const std::string*> names;
    names.reserve(object.size());
    for (const JsonValue::Member& member : object) names.push_back(&member.first);
    std::sort(names.begin(), names.end(),
              [](const std::string* a, const std::string* b) { return *a < *b; });
    const auto twin =
        std::adjacent_find(names.begin(), names.end(),
                           [](const std::string* a, const std::string* b) { return *a == *b; });
    return twin == names.end() ? nullptr : *twin;
  }

  // The path of the innermost open array or object.
  std::string PathOfOpen() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      if (i > 0) path += '.';
      const JsonValue::Array* array = open_[i].AsArray();
      path += array != nullptr ? std::to_string(array->size())
                               : PathSegment(open_[i].AsObject()->back().first);
    }
    return path;
  }

  // `position` counts bytes read, the offending one included.
  std::string LineAndColumn(std::size_t position) const {
    const std::string_view before = text_.substr(0, position == 0 ? 0 : position - 1);
    const auto line = std::count(before.begin(), before.end(), '\n');
    const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    return "line " + std::to_string(line + 1) + ", column " +
           std::to_string(before.size() - line_begin + 1);
  }

  JsonLimits limits_;
  std::string_view text_;
  std::vector<JsonValue> open_;
  JsonValue root_;
  Error error_;
  std::int64_t value_count_ = 0;
};

}  // namespace

Result<JsonDocument> ParseJson(std::string_view text, std::string name, const JsonLimits& limits) {
  if (std::cmp_greater(text.size(), limits.bytes)) {
    return InputError(std::move(name), "larger than " + std::to_string(limits.bytes) + " bytes");
  }
  DocumentBuilder builder(limits, text);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    return tl::unexpected(builder.TakeError(name));
  }
  return JsonDocument{std::move(name), builder.TakeRoot()};
}

Result<JsonDocument> ReadJsonFile(const std::string& path, const JsonLimits& limits) {
  const Result<std::string> text = ReadTextFile(path, limits.bytes);
  if (!text) return tl::unexpected(text.error());
  return ParseJson(*text, path, limits);
}

}  // namespace reshard
