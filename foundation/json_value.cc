#include "foundation/json_value.h"

#include <array>
#include <cmath>

namespace reshard {

JsonValue::JsonValue(double value) {
  // 2^63. Its negative is excluded: integers just beyond 64 bits are rounded to it on reading.
  constexpr double kBeyondIntegers = 9223372036854775808.0;
  if (!std::isfinite(value)) return;
  if (value > -kBeyondIntegers && value < kBeyondIntegers && value == std::trunc(value)) {
    value_ = static_cast<std::int64_t>(value);
  } else {
    value_ = value;
  }
}

const JsonValue* JsonValue::Find(std::string_view name) const {
  const Object* object = AsObject();
  if (object == nullptr) return nullptr;
  for (const Member& member : *object) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

JsonValue* JsonValue::Find(std::string_view name) {
  return const_cast<JsonValue*>(std::as_const(*this).Find(name));
}

std::string_view JsonValue::KindName() const {
  static constexpr std::array<std::string_view, 7> kNames = {
      "null", "a boolean", "an integer", "a number", "a string", "an array", "an object"};
  return kNames[value_.index()];
}

}  // namespace reshard
