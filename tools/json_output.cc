#include "tools/json_output.h"

#include "foundation/json_writer.h"

namespace reshard {

std::string JsonReport(const JsonValue::Object& fields) {
  std::string text = "{";
  bool first = true;
  for (const auto& [name, value] : fields) {
    text += first ? "\n" : ",\n";
    text += "  " + JsonLine(name) + ": " + JsonLine(value);
    first = false;
  }
  return text + "\n}\n";
}

JsonValue JsonList(const std::vector<std::string>& texts) {
  JsonValue::Array list;
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

JsonValue JsonOrNull(const std::optional<double>& value) {
  return value ? JsonValue(*value) : JsonValue(nullptr);
}

}  // namespace reshard
