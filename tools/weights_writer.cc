#include "tools/weights_writer.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "foundation/json_value.h"
#include "foundation/json_writer.h"
#include "schedules/dtype.h"
#include "tools/output_file.h"

namespace reshard {
namespace {

std::string HeaderText(const std::map<std::string, std::string>& metadata,
                       const std::vector<StoredParameter>& parameters) {
  JsonValue::Object header;
  JsonValue::Object about;
  for (const auto& [name, value] : metadata) about.emplace_back(name, value);
  header.emplace_back("__metadata__", std::move(about));
  std::int64_t offset = 0;
  for (const StoredParameter& stored : parameters) {
    JsonValue::Array shape(stored.parameter.shape.begin(), stored.parameter.shape.end());
    const std::int64_t end = offset + static_cast<std::int64_t>(stored.bytes.size());
    JsonValue::Object entry;
    entry.emplace_back("dtype", Name(stored.parameter.dtype));
    entry.emplace_back("shape", std::move(shape));
    entry.emplace_back("data_offsets", JsonValue::Array{offset, end});
    header.emplace_back(stored.parameter.name, std::move(entry));
    offset = end;
  }
  std::string text = JsonLine(JsonValue(std::move(header)));
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begins at a multiple of 8
  return text;
}

}  // namespace

Result<std::int64_t> WriteSafetensors(const std::string& path,
                                      const std::map<std::string, std::string>& metadata,
                                      std::vector<StoredParameter> parameters) {
  std::stable_sort(parameters.begin(), parameters.end(),
                   [](const StoredParameter& a, const StoredParameter& b) {
                     return ElementBytes(a.parameter.dtype) > ElementBytes(b.parameter.dtype);
                   });
  const std::string header = HeaderText(metadata, parameters);
  std::array<char, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  std::vector<std::string_view> pieces = {{length.data(), length.size()}, header};
  for (const StoredParameter& stored : parameters) {
    pieces.emplace_back(reinterpret_cast<const char*>(stored.bytes.data()), stored.bytes.size());
  }
  return WriteWholeFile(path, pieces);
}

}  // namespace reshard
