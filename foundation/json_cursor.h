// A place in a JSON document, read by type; every error names the file and the path in it:
// "job.json: source.layout.megatron.pipeline: expected an integer, got a string".
//
// A cursor is two pointers; the document must outlive it. The path is looked for only when an error
// needs it. Paths are written as --set takes them: names and element indices joined by dots, names
// that hold other than letters, digits, '_' and '-' in double quotes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_value.h"

namespace reshard {

// Bounds of an integer, both included.
struct IntegerRange {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};
inline constexpr IntegerRange kAnyInteger{};
inline constexpr IntegerRange kPositiveInteger{1, std::numeric_limits<std::int64_t>::max()};
inline constexpr IntegerRange kNotNegativeInteger{0, std::numeric_limits<std::int64_t>::max()};

// Bounds of a number, both included unless `above_min`.
struct NumberRange {
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();
  bool above_min = false;
};
inline constexpr NumberRange kAnyNumber{};
inline constexpr NumberRange kPositiveNumber{0, std::numeric_limits<double>::max(), true};
inline constexpr NumberRange kNotNegativeNumber{0, std::numeric_limits<double>::max(), false};

class JsonCursor {
 public:
  explicit JsonCursor(const JsonDocument& document)
      : document_(&document), value_(&document.root) {}

  const JsonValue& value() const { return *value_; }
  const JsonDocument& document() const { return *document_; }

  // "cluster.json: overrides.3.gpu"; the document's name alone at its root.
  std::string Place() const;
  // An input error at this place.
  tl::unexpected<Error> Fail(std::string reason, std::string remedy = "") const;

  // The value here, by type. A number may be an integer; an integer never a fraction.
  Result<bool> AsBool() const;
  Result<std::int64_t> AsInteger(const IntegerRange& range = kAnyInteger) const;
  Result<double> AsNumber(const NumberRange& range = kAnyNumber) const;
  Result<std::string> AsString() const;
  Result<std::vector<std::int64_t>> AsIntegers(const IntegerRange& range = kAnyInteger) const;
  Result<std::vector<double>> AsNumbers(const NumberRange& range = kAnyNumber) const;
  Result<std::vector<std::string>> AsStrings() const;
  Result<std::vector<JsonCursor>> Elements() const;                              // of an array
  Result<std::vector<std::pair<std::string_view, JsonCursor>>> Members() const;  // document order

  // Fails unless this is an object without fields other than `known`. Not called for other tools'
  // files, whose unknown fields are ignored.
  Result<void> ExpectFields(std::span<const std::string_view> known) const;
  Result<void> ExpectFields(std::initializer_list<std::string_view> known) const {
    return ExpectFields(std::span(known.begin(), known.size()));
  }

  // The field `name`; none if it is absent or this is no object. A null is a value.
  std::optional<JsonCursor> Find(std::string_view name) const;
  // As Find, but a null counts as absent (Hugging Face writes it so).
  std::optional<JsonCursor> FindUnlessNull(std::string_view name) const;
  bool Has(std::string_view name) const { return Find(name).has_value(); }
  // The field `name`, which must be there.
  Result<JsonCursor> Field(std::string_view name) const;

  // Required fields by type.
  Result<bool> Bool(std::string_view name) const;
  Result<std::int64_t> Integer(std::string_view name,
                               const IntegerRange& range = kAnyInteger) const;
  Result<double> Number(std::string_view name, const NumberRange& range = kAnyNumber) const;
  Result<std::string> String(std::string_view name) const;
  Result<std::vector<std::int64_t>> Integers(std::string_view name,
                                             const IntegerRange& range = kAnyInteger) const;
  Result<std::vector<std::string>> Strings(std::string_view name) const;
  Result<std::vector<JsonCursor>> Elements(std::string_view name) const;

  // Optional fields: the default where absent.
  Result<bool> BoolOr(std::string_view name, bool otherwise) const;
  Result<std::int64_t> IntegerOr(std::string_view name, std::int64_t otherwise,
                                 const IntegerRange& range = kAnyInteger) const;
  Result<double> NumberOr(std::string_view name, double otherwise,
                          const NumberRange& range = kAnyNumber) const;
  Result<std::string> StringOr(std::string_view name, std::string otherwise) const;
  // Empty where absent.
  Result<std::vector<std::int64_t>> IntegersOrNone(std::string_view name,
                                                   const IntegerRange& range = kAnyInteger) const;
  Result<std::vector<std::string>> StringsOrNone(std::string_view name) const;
  Result<std::vector<JsonCursor>> ElementsOrNone(std::string_view name) const;

 private:
  JsonCursor(const JsonDocument& document, const JsonValue& value)
      : document_(&document), value_(&value) {}
  tl::unexpected<Error> Expected(std::string_view what) const;

  const JsonDocument* document_;
  const JsonValue* value_;
};

// One segment of a path as Place() writes it: the name, in quotes where a path would not read it.
std::string PathSegment(std::string_view name);

}  // namespace reshard
