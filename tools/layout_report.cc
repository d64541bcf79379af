#include "tools/layout_report.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "foundation/checked_arithmetic.h"
#include "schedules/dtype.h"
#include "schedules/number_text.h"
#include "tools/name_ranges.h"

namespace reshard {
namespace {

using Numbers = std::vector<std::int64_t>;

// A name as text around its numbers. Runs of digits longer than a count needs are text.
struct NumberedName {
  std::vector<std::string> texts{""};  // before, between and behind the numbers
  Numbers numbers;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

NumberedName TakeNumbers(std::string_view name) {
  constexpr std::size_t kLongest = 9;
  NumberedName taken;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && IsDigit(name[end])) ++end;
    if (end == i) {
      taken.texts.back() += name[i++];
      continue;
    }
    const std::string_view digits = name.substr(i, end - i);
    const auto number = digits.size() <= kLongest ? PlainNumber(digits) : std::nullopt;
    if (number) {
      taken.numbers.push_back(*number);
      taken.texts.emplace_back();
    } else {
      taken.texts.back() += digits;
    }
    i = end;
  }
  return taken;
}

std::vector<std::set<std::int64_t>> ValuesOf(std::span<const Numbers> rows) {
  std::vector<std::set<std::int64_t>> values(rows.front().size());
  for (const Numbers& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) values[i].insert(row[i]);
  }
  return values;
}

// Cuts `rows`, distinct ones, into parts that are each all combinations of their values: by the
// first number that has several, as long as need be.
void SplitIntoProducts(std::vector<Numbers> rows, std::vector<std::vector<Numbers>>& parts) {
  const std::vector<std::set<std::int64_t>> values = ValuesOf(rows);
  std::size_t combinations = 1;
  for (const std::set<std::int64_t>& one : values) {
    combinations = combinations > rows.size() ? combinations : combinations * one.size();
  }
  if (combinations == rows.size()) {
    parts.push_back(std::move(rows));
    return;
  }
  const auto several =
      std::find_if(values.begin(), values.end(), [](const auto& one) { return one.size() > 1; });
  const auto place = static_cast<std::size_t>(several - values.begin());
  std::map<std::int64_t, std::vector<Numbers>> by_value;
  for (Numbers& row : rows) by_value[row[place]].push_back(std::move(row));
  for (auto& [value, part] : by_value) SplitIntoProducts(std::move(part), parts);
}

// The texts with the numbers of all of `rows` between them.
std::string JoinedName(const std::vector<std::string>& texts, std::span<const Numbers> rows) {
  const std::vector<std::set<std::int64_t>> values = ValuesOf(rows);
  std::string name = texts.front();
  for (std::size_t i = 0; i < values.size(); ++i) {
    name += NumberRanges({values[i].begin(), values[i].end()}) + texts[i + 1];
  }
  return name;
}

}  // namespace

Result<std::vector<ParameterRow>> JoinAlike(std::span<const ParameterDescription> parameters) {
  using Key = std::tuple<
      std::vector<std::string>, DType, std::optional<std::size_t>, std::vector<std::string>,
      std::vector<std::pair<std::vector<std::int64_t>, std::int64_t>>, std::int64_t, std::int64_t>;
  // Parameters that lie alike, in the order of the first of each.
  struct Alike {
    const ParameterDescription* first;
    std::vector<std::string> texts;
    std::vector<Numbers> numbers;
  };
  std::map<Key, std::size_t> places;
  std::vector<Alike> all;
  for (const ParameterDescription& parameter : parameters) {
    NumberedName name = TakeNumbers(parameter.name);
    const Key key{name.texts,       parameter.dtype,   parameter.mesh,         parameter.placements,
                  parameter.shapes, parameter.tensors, parameter.padding_bytes};
    const auto [place, fresh] = places.emplace(key, all.size());
    if (fresh) all.push_back({&parameter, std::move(name.texts), {}});
    all[place->second].numbers.push_back(std::move(name.numbers));
  }
  std::vector<ParameterRow> rows;
  for (Alike& alike : all) {
    std::vector<std::vector<Numbers>> parts;
    SplitIntoProducts(std::move(alike.numbers), parts);
    for (const std::vector<Numbers>& part : parts) {
      const auto count = static_cast<std::int64_t>(part.size());
      std::string name = JoinedName(alike.texts, part);
      const std::optional<std::int64_t> bytes = CheckedMultiply(count, alike.first->bytes);
      const auto padding_bytes = CheckedMultiply(count, alike.first->padding_bytes);
      if (!bytes || !padding_bytes) {
        return InputError(std::move(name), "the bytes of all of these do not fit 64 bits");
      }
      rows.push_back({.name = std::move(name),
                      .count = count,
                      .one = *alike.first,
                      .bytes = *bytes,
                      .padding_bytes = *padding_bytes});
    }
  }
  return rows;
}

std::string PlacementText(const ParameterDescription& parameter,
                          std::span<const NamedMesh> meshes) {
  if (!parameter.mesh) return "no mesh explains it";
  const NamedMesh& mesh = meshes[*parameter.mesh];
  std::string text;
  for (std::size_t axis = 0; axis < mesh.mesh.axes.size(); ++axis) {
    if (mesh.mesh.axes[axis].size == 1) continue;
    text +=
        (text.empty() ? "" : ", ") + mesh.mesh.axes[axis].name + " " + parameter.placements[axis];
  }
  return mesh.name + (text.empty() ? "" : ": " + text);
}

std::string ShapesText(const ParameterDescription& parameter) {
  if (parameter.shapes.size() == 1) return ShapeText(parameter.shapes.front().first);
  std::string text;
  for (const auto& [shape, ranks] : parameter.shapes) {
    text += (text.empty() ? "" : ", ") + ShapeText(shape) + " on " + std::to_string(ranks);
  }
  return text;
}

std::string MeshText(const NamedMesh& mesh) {
  std::string text;
  for (const MeshAxis& axis : mesh.mesh.axes) {
    text += (text.empty() ? "" : " x ") + axis.name + " " + std::to_string(axis.size);
  }
  return mesh.name + ": " + text;
}

JsonValue ParametersJson(std::span<const ParameterRow> rows, std::span<const NamedMesh> meshes) {
  JsonValue::Array parameters;
  for (const ParameterRow& row : rows) {
    JsonValue::Object object;
    object.emplace_back("name", row.name);
    object.emplace_back("count", row.count);
    object.emplace_back("dtype", std::string(Name(row.one.dtype)));
    object.emplace_back("mesh", row.one.mesh ? JsonValue(meshes[*row.one.mesh].name) : JsonValue());
    JsonValue::Array placements;
    for (const std::string& placement : row.one.placements) placements.emplace_back(placement);
    object.emplace_back("placements", std::move(placements));
    JsonValue::Array shapes;
    for (const auto& [shape, ranks] : row.one.shapes) {
      JsonValue::Array sizes;
      for (const std::int64_t size : shape) sizes.emplace_back(size);
      JsonValue::Object entry;
      entry.emplace_back("shape", std::move(sizes));
      entry.emplace_back("ranks", ranks);
      shapes.emplace_back(std::move(entry));
    }
    object.emplace_back("shapes", std::move(shapes));
    object.emplace_back("tensors", row.one.tensors);
    object.emplace_back("bytes", row.bytes);
    object.emplace_back("bytesMax", row.one.bytes_max);
    object.emplace_back("paddingBytes", row.padding_bytes);
    parameters.emplace_back(std::move(object));
  }
  return parameters;
}

JsonValue MeshesJson(std::span<const NamedMesh> meshes) {
  JsonValue::Array array;
  for (const NamedMesh& mesh : meshes) {
    JsonValue::Array axes;
    for (const MeshAxis& axis : mesh.mesh.axes) {
      axes.emplace_back(JsonValue::Array{JsonValue(axis.name), JsonValue(axis.size)});
    }
    JsonValue::Object object;
    object.emplace_back("name", mesh.name);
    object.emplace_back("axes", std::move(axes));
    array.emplace_back(std::move(object));
  }
  return array;
}

}  // namespace reshard
