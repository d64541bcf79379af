// JSON as a value: what the strict reader yields and the writer takes.
//
// Numbers are what they equal: 2.0 and 2e0 are the integer 2, so that formatting never counts.
// Objects keep document order.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace reshard {

class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Member = std::pair<std::string, JsonValue>;
  using Object = std::vector<Member>;

  // Conversions are implicit so that `object.emplace_back("rounds", 12)` and array literals read as
  // the JSON they become.
  // NOLINTBEGIN(google-explicit-constructor)
  JsonValue() = default;  // null
  JsonValue(std::nullptr_t) {}
  JsonValue(bool value) : value_(value) {}
  JsonValue(double value);  // an integer where it equals one, null where it is not finite
  JsonValue(std::string value) : value_(std::move(value)) {}
  JsonValue(std::string_view value) : value_(std::string(value)) {}
  JsonValue(const char* value) : value_(std::string(value)) {}
  JsonValue(Array value) : value_(std::move(value)) {}
  JsonValue(Object value) : value_(std::move(value)) {}
  // `value` must fit 64 bits signed.
  template <std::integral Integer>
  JsonValue(Integer value) : value_(static_cast<std::int64_t>(value)) {}
  // NOLINTEND(google-explicit-constructor)

  // Each is the value if it is of that kind, else nullptr.
  const bool* AsBool() const { return std::get_if<bool>(&value_); }
  const std::int64_t* AsInteger() const { return std::get_if<std::int64_t>(&value_); }
  // A number that is no integer of 64 bits signed.
  const double* AsFraction() const { return std::get_if<double>(&value_); }
  const std::string* AsString() const { return std::get_if<std::string>(&value_); }
  const Array* AsArray() const { return std::get_if<Array>(&value_); }
  const Object* AsObject() const { return std::get_if<Object>(&value_); }
  Array* AsArray() { return std::get_if<Array>(&value_); }
  Object* AsObject() { return std::get_if<Object>(&value_); }
  bool IsNull() const { return std::holds_alternative<std::nullptr_t>(value_); }

  // The member `name` of an object; nullptr if there is none or this is no object. Linear.
  const JsonValue* Find(std::string_view name) const;
  JsonValue* Find(std::string_view name);

  // "null", "a boolean", "an integer", "a number", "a string", "an array", "an object".
  std::string_view KindName() const;

  // Document order counts; compare CanonicalJson() where it should not.
  bool operator==(const JsonValue&) const = default;

 private:
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> value_;
};

// A value and the name that errors call it by (the file it was read from).
struct JsonDocument {
  std::string name;
  JsonValue root;
};

}  // namespace reshard
