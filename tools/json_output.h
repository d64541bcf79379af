// The one object a command prints under --json: fields in the order they are added, numbers as
// numbers, text as UTF-8.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reshard {

class JsonObject {
 public:
  JsonObject();
  ~JsonObject();
  JsonObject(JsonObject&&) noexcept;
  JsonObject& operator=(JsonObject&&) noexcept;

  // Names are distinct within one object. A number that is not finite, and a value that is not
  // there, become null. Bytes that are no UTF-8 become U+FFFD.
  void Add(std::string_view name, std::int64_t value);
  void Add(std::string_view name, double value);
  void Add(std::string_view name, std::optional<double> value);
  void Add(std::string_view name, std::string_view value);
  void Add(std::string_view name, const char* value) { Add(name, std::string_view(value)); }
  void Add(std::string_view name, const std::vector<std::string>& values);
  void Add(std::string_view name, JsonObject value);
  void Add(std::string_view name, std::vector<JsonObject> values);
  void AddFlag(std::string_view name, bool value);

  // Indented by two blanks, with a line break at the end. Doubles are written so that reading them
  // gives the same double.
  std::string Text() const;

 private:
  struct Value;  // hides the JSON library, whose header takes seconds to compile
  std::unique_ptr<Value> value_;
};

}  // namespace reshard
