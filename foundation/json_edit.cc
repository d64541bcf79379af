#include "foundation/json_edit.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "foundation/strict_json.h"

namespace reshard {
namespace {

std::string PlaceOf(std::string_view path) { return "--set " + std::string(path); }

// Names and indices of a path, quotes removed.
Result<std::vector<std::string>> SplitPath(std::string_view path) {
  std::vector<std::string> segments;
  std::string_view rest = path;
  while (true) {
    std::size_t end = 0;
    if (rest.starts_with('"')) {
      end = rest.find('"', 1);
      if (end == std::string_view::npos) {
        return InputError(PlaceOf(path), "a quote is not closed", "close it");
      }
      segments.emplace_back(rest.substr(1, end - 1));
      ++end;
      if (end < rest.size() && rest[end] != '.') {
        return InputError(PlaceOf(path), "a quoted name does not end at a dot",
                          "quote whole names");
      }
    } else {
      end = std::min(rest.find('.'), rest.size());
      if (end == 0) {
        return InputError(PlaceOf(path), "a name in the path is empty",
                          "give a path like options.stagingMiB");
      }
      segments.emplace_back(rest.substr(0, end));
    }
    if (end == rest.size()) return segments;
    rest.remove_prefix(end + 1);
  }
}

Result<JsonValue> ParseValue(std::string_view path, std::string_view value) {
  Result<JsonDocument> parsed = ParseJson(value, PlaceOf(path));
  if (parsed) return std::move(parsed->root);
  const bool meant_as_json =
      value.starts_with('{') || value.starts_with('[') || value.starts_with('"');
  if (meant_as_json) return tl::unexpected(std::move(parsed.error()));
  return JsonValue(value);
}

// The value `segment` names in `parent`; made where an object lacks it.
Result<JsonValue*> Descend(JsonValue& parent, const std::string& segment, std::string_view path) {
  if (JsonValue::Object* object = parent.AsObject()) {
    if (JsonValue* found = parent.Find(segment)) return found;
    object->emplace_back(segment, JsonValue(JsonValue::Object()));
    return &object->back().second;
  }
  JsonValue::Array* array = parent.AsArray();
  if (array == nullptr) {
    return InputError(PlaceOf(path), "'" + segment + "' would lie in " +
                                         std::string(parent.KindName()) + ", which has no fields");
  }
  std::size_t index = 0;
  const char* const end = segment.data() + segment.size();
  const std::from_chars_result number = std::from_chars(segment.data(), end, index);
  if (number.ec != std::errc() || number.ptr != end || index >= array->size()) {
    return InputError(PlaceOf(path), "'" + segment + "' is no index of an array of " +
                                         std::to_string(array->size()) + " elements");
  }
  return &(*array)[index];
}

}  // namespace

Result<void> SetJson(JsonDocument& document, std::string_view path, std::string_view value) {
  const Result<std::vector<std::string>> segments = SplitPath(path);
  if (!segments) return tl::unexpected(segments.error());
  Result<JsonValue> parsed = ParseValue(path, value);
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  JsonValue* target = &document.root;
  for (const std::string& segment : *segments) {
    const Result<JsonValue*> next = Descend(*target, segment, path);
    if (!next) return tl::unexpected(next.error());
    target = *next;
  }
  *target = *std::move(parsed);
  return {};
}

}  // namespace reshard
