#include "foundation/json_cursor.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "foundation/nearest_name.h"

namespace reshard {
namespace {

// Appends the path from `from` to `target`, by address; false if it is not in there.
bool AppendPath(const JsonValue& from, const JsonValue& target, std::string& path) {
  if (&from == &target) return true;
  const std::size_t before = path.size();
  if (const JsonValue::Array* array = from.AsArray()) {
    // One of the elements themselves is found without walking what lies in the others.
    const bool inside = !array->empty() && std::less_equal<>()(array->data(), &target) &&
                        std::less<>()(&target, array->data() + array->size());
    std::size_t index = inside ? static_cast<std::size_t>(&target - array->data()) : 0;
    for (; index < array->size(); ++index) {
      path += (path.empty() ? "" : ".") + std::to_string(index);
      if (AppendPath((*array)[index], target, path)) return true;
      path.resize(before);
    }
  } else if (const JsonValue::Object* object = from.AsObject()) {
    for (const JsonValue::Member& member : *object) {
      path += (path.empty() ? "" : ".") + PathSegment(member.first);
      if (AppendPath(member.second, target, path)) return true;
      path.resize(before);
    }
  }
  return false;
}

std::string Shortest(double number) {
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof(text), number);
  return {text, end.ptr};
}

}  // namespace

std::string PathSegment(std::string_view name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  // A hostile name must not flood the error line.
  constexpr std::size_t kLongest = 200;
  std::string segment(name.substr(0, kLongest));
  if (name.size() > kLongest) segment += "...";
  return plain ? segment : '"' + segment + '"';
}

std::string JsonCursor::Place() const {
  std::string path;
  AppendPath(document_->root, *value_, path);
  if (path.empty()) return document_->name;
  return document_->name.empty() ? path : document_->name + ": " + path;
}

tl::unexpected<Error> JsonCursor::Fail(std::string reason, std::string remedy) const {
  return InputError(Place(), std::move(reason), std::move(remedy));
}

tl::unexpected<Error> JsonCursor::Expected(std::string_view what) const {
  const double* fraction = value_->AsFraction();
  return Fail("expected " + std::string(what) + ", got " +
              (fraction != nullptr ? Shortest(*fraction) : std::string(value_->KindName())));
}

Result<bool> JsonCursor::AsBool() const {
  if (const bool* value = value_->AsBool()) return *value;
  return Expected("a boolean");
}

Result<std::int64_t> JsonCursor::AsInteger(const IntegerRange& range) const {
  const std::int64_t* value = value_->AsInteger();
  if (value == nullptr) {
    const double* fraction = value_->AsFraction();
    const bool too_large = fraction != nullptr && std::abs(*fraction) >= 0x1p63;
    return Expected(too_large ? "an integer of 64 bits" : "an integer");
  }
  if (*value >= range.min && *value <= range.max) return *value;
  const std::string got = ", got " + std::to_string(*value);
  if (range.max == kAnyInteger.max)
    return Fail("must be at least " + std::to_string(range.min) + got);
  if (range.min == kAnyInteger.min)
    return Fail("must be at most " + std::to_string(range.max) + got);
  return Fail("must be from " + std::to_string(range.min) + " to " + std::to_string(range.max) +
              got);
}

Result<double> JsonCursor::AsNumber(const NumberRange& range) const {
  const std::int64_t* integer = value_->AsInteger();
  const double* fraction = value_->AsFraction();
  if (integer == nullptr && fraction == nullptr) return Expected("a number");
  const double value = integer != nullptr ? static_cast<double>(*integer) : *fraction;
  const bool too_small = range.above_min ? value <= range.min : value < range.min;
  if (!too_small && value <= range.max) return value;
  const std::string got = ", got " + Shortest(value);
  std::string bounds = range.above_min ? "above " : "at least ";
  bounds += Shortest(range.min);
  if (range.max != kAnyNumber.max) bounds += " and at most " + Shortest(range.max);
  return Fail("must be " + bounds + got);
}

Result<std::string> JsonCursor::AsString() const {
  if (const std::string* value = value_->AsString()) return *value;
  return Expected("a string");
}

Result<std::vector<JsonCursor>> JsonCursor::Elements() const {
  const JsonValue::Array* array = value_->AsArray();
  if (array == nullptr) return Expected("an array");
  std::vector<JsonCursor> elements;
  elements.reserve(array->size());
  for (const JsonValue& element : *array) elements.push_back(JsonCursor(*document_, element));
  return elements;
}

Result<std::vector<std::pair<std::string_view, JsonCursor>>> JsonCursor::Members() const {
  const JsonValue::Object* object = value_->AsObject();
  if (object == nullptr) return Expected("an object");
  std::vector<std::pair<std::string_view, JsonCursor>> members;
  members.reserve(object->size());
  for (const JsonValue::Member& member : *object) {
    members.emplace_back(member.first, JsonCursor(*document_, member.second));
  }
  return members;
}

Result<std::vector<std::int64_t>> JsonCursor::AsIntegers(const IntegerRange& range) const {
  const Result<std::vector<JsonCursor>> elements = Elements();
  if (!elements) return tl::unexpected(elements.error());
  std::vector<std::int64_t> values;
  values.reserve(elements->size());
  for (const JsonCursor& element : *elements) {
    const Result<std::int64_t> value = element.AsInteger(range);
    if (!value) return tl::unexpected(value.error());
    values.push_back(*value);
  }
  return values;
}

Result<std::vector<double>> JsonCursor::AsNumbers(const NumberRange& range) const {
  const Result<std::vector<JsonCursor>> elements = Elements();
  if (!elements) return tl::unexpected(elements.error());
  std::vector<double> values;
  values.reserve(elements->size());
  for (const JsonCursor& element : *elements) {
    const Result<double> value = element.AsNumber(range);
    if (!value) return tl::unexpected(value.error());
    values.push_back(*value);
  }
  return values;
}

Result<std::vector<std::string>> JsonCursor::AsStrings() const {
  const Result<std::vector<JsonCursor>> elements = Elements();
  if (!elements) return tl::unexpected(elements.error());
  std::vector<std::string> values;
  values.reserve(elements->size());
  for (const JsonCursor& element : *elements) {
    Result<std::string> value = element.AsString();
    if (!value) return tl::unexpected(value.error());
    values.push_back(*std::move(value));
  }
  return values;
}

Result<void> JsonCursor::ExpectFields(std::span<const std::string_view> known) const {
  const JsonValue::Object* object = value_->AsObject();
  if (object == nullptr) return Expected("an object");
  for (const JsonValue::Member& member : *object) {
    if (std::find(known.begin(), known.end(), member.first) != known.end()) continue;
    constexpr std::size_t kLongest = 200;
    return Fail("unknown field '" + member.first.substr(0, kLongest) + "'",
                SuggestName(member.first, known));
  }
  return {};
}

std::optional<JsonCursor> JsonCursor::Find(std::string_view name) const {
  const JsonValue* value = value_->Find(name);
  if (value == nullptr) return std::nullopt;
  return JsonCursor(*document_, *value);
}

std::optional<JsonCursor> JsonCursor::FindUnlessNull(std::string_view name) const {
  std::optional<JsonCursor> field = Find(name);
  if (field && field->value().IsNull()) return std::nullopt;
  return field;
}

Result<JsonCursor> JsonCursor::Field(std::string_view name) const {
  if (value_->AsObject() == nullptr) return Expected("an object");
  if (const std::optional<JsonCursor> field = Find(name)) return *field;
  return Fail("field '" + std::string(name) + "' is missing", "add it");
}

Result<bool> JsonCursor::Bool(std::string_view name) const {
  return Field(name).and_then([](const JsonCursor& field) { return field.AsBool(); });
}

Result<std::int64_t> JsonCursor::Integer(std::string_view name, const IntegerRange& range) const {
  return Field(name).and_then([&](const JsonCursor& field) { return field.AsInteger(range); });
}

Result<double> JsonCursor::Number(std::string_view name, const NumberRange& range) const {
  return Field(name).and_then([&](const JsonCursor& field) { return field.AsNumber(range); });
}

Result<std::string> JsonCursor::String(std::string_view name) const {
  return Field(name).and_then([](const JsonCursor& field) { return field.AsString(); });
}

Result<std::vector<std::int64_t>> JsonCursor::Integers(std::string_view name,
                                                       const IntegerRange& range) const {
  return Field(name).and_then([&](const JsonCursor& field) { return field.AsIntegers(range); });
}

Result<std::vector<std::string>> JsonCursor::Strings(std::string_view name) const {
  return Field(name).and_then([](const JsonCursor& field) { return field.AsStrings(); });
}

Result<std::vector<JsonCursor>> JsonCursor::Elements(std::string_view name) const {
  return Field(name).and_then([](const JsonCursor& field) { return field.Elements(); });
}

Result<bool> JsonCursor::BoolOr(std::string_view name, bool otherwise) const {
  return Has(name) ? Bool(name) : Result<bool>(otherwise);
}

Result<std::int64_t> JsonCursor::IntegerOr(std::string_view name, std::int64_t otherwise,
                                           const IntegerRange& range) const {
  return Has(name) ? Integer(name, range) : Result<std::int64_t>(otherwise);
}

Result<double> JsonCursor::NumberOr(std::string_view name, double otherwise,
                                    const NumberRange& range) const {
  return Has(name) ? Number(name, range) : Result<double>(otherwise);
}

Result<std::string> JsonCursor::StringOr(std::string_view name, std::string otherwise) const {
  return Has(name) ? String(name) : Result<std::string>(std::move(otherwise));
}

Result<std::vector<std::int64_t>> JsonCursor::IntegersOrNone(std::string_view name,
                                                             const IntegerRange& range) const {
  return Has(name) ? Integers(name, range)
                   : Result<std::vector<std::int64_t>>(std::vector<std::int64_t>());
}

Result<std::vector<std::string>> JsonCursor::StringsOrNone(std::string_view name) const {
  return Has(name) ? Strings(name) : Result<std::vector<std::string>>(std::vector<std::string>());
}

Result<std::vector<JsonCursor>> JsonCursor::ElementsOrNone(std::string_view name) const {
  return Has(name) ? Elements(name) : Result<std::vector<JsonCursor>>(std::vector<JsonCursor>());
}

}  // namespace reshard
