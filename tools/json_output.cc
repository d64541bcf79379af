#include "tools/json_output.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace reshard {

struct JsonObject::Value {
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
};

JsonObject::JsonObject() : value_(std::make_unique<Value>()) {}
JsonObject::~JsonObject() = default;
JsonObject::JsonObject(JsonObject&&) noexcept = default;
JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;

void JsonObject::Add(std::string_view name, std::int64_t value) {
  value_->fields[std::string(name)] = value;
}

void JsonObject::Add(std::string_view name, double value) {
  if (std::isfinite(value)) {
    value_->fields[std::string(name)] = value;
  } else {
    value_->fields[std::string(name)] = nullptr;
  }
}

void JsonObject::Add(std::string_view name, std::optional<double> value) {
  if (value) {
    Add(name, *value);
  } else {
    value_->fields[std::string(name)] = nullptr;
  }
}

void JsonObject::Add(std::string_view name, std::string_view value) {
  value_->fields[std::string(name)] = std::string(value);
}

void JsonObject::Add(std::string_view name, const std::vector<std::string>& values) {
  value_->fields[std::string(name)] = values;
}

void JsonObject::Add(std::string_view name, JsonObject value) {
  value_->fields[std::string(name)] = std::move(value.value_->fields);
}

void JsonObject::Add(std::string_view name, std::vector<JsonObject> values) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (JsonObject& value : values) list.push_back(std::move(value.value_->fields));
  value_->fields[std::string(name)] = std::move(list);
}

void JsonObject::AddFlag(std::string_view name, bool value) {
  value_->fields[std::string(name)] = value;
}

std::string JsonObject::Text() const {
  return value_->fields.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace reshard
