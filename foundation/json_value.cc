#include "foundation/json_value.h"

#include <array>
#include <cmath>

namespace reshard {

JsonValue::JsonValue(double value) {
  // Below 2^53 an integral double is the number that was written, not one it was rounded to.
  constexpr double kExactIntegers = 9007199254740992.0;
  if (!std::isfinite(value)) return;
  if (std::abs(value) < kExactIntegers && value == std::trunc(value)) {
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
