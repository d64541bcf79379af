#include "compiler/layout/explicit_words.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "compiler/layout/index_list.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

using MeshNames = std::map<std::string, std::size_t, std::less<>>;

// `result`, its error placed where `cursor` stands.
template <typename T>
Result<T> AtCursor(const JsonCursor& cursor, Result<T> result) {
  if (!result) result.error().place = cursor.Place();
  return result;
}

Result<Mesh> ReadMesh(const JsonCursor& cursor, std::int64_t rank_count) {
  Mesh mesh;
  if (const Result<void> known = cursor.ExpectFields({"axes", "ranks"}); !known) {
    return tl::unexpected(known.error());
  }
  const auto axes = cursor.Elements("axes");
  if (!axes) return tl::unexpected(axes.error());
  std::optional<std::int64_t> size = 1;
  for (const JsonCursor& axis : *axes) {
    const auto pair = axis.Elements();
    if (!pair) return tl::unexpected(pair.error());
    if (pair->size() != 2) return axis.Fail("expected [name, size]");
    const Result<std::string> name = (*pair)[0].AsString();
    if (!name) return tl::unexpected(name.error());
    const Result<std::int64_t> count = (*pair)[1].AsInteger(kPositiveInteger);
    if (!count) return tl::unexpected(count.error());
    if (std::any_of(mesh.axes.begin(), mesh.axes.end(),
                    [&](const MeshAxis& other) { return other.name == *name; })) {
      return axis.Fail("two axes are named '" + *name + "'");
    }
    mesh.axes.push_back({*name, *count});
    size = size ? CheckedMultiply(*size, *count) : size;
  }
  if (const std::optional<JsonCursor> ranks = cursor.Find("ranks")) {
    const Result<std::string> text = ranks->AsString();
    if (!text) return tl::unexpected(text.error());
    Result<std::vector<std::int32_t>> list = AtCursor(*ranks, ParseIndexList(*text, rank_count));
    if (!list) return tl::unexpected(list.error());
    mesh.ranks = std::move(*list);
  } else {
    mesh.ranks.resize(static_cast<std::size_t>(rank_count));
    std::iota(mesh.ranks.begin(), mesh.ranks.end(), 0);
  }
  if (!size || *size != static_cast<std::int64_t>(mesh.ranks.size())) {
    return cursor.Fail("the axes have " + (size ? std::to_string(*size) : "too many") +
                           " places, but the mesh has " + std::to_string(mesh.ranks.size()) +
                           " ranks",
                       "make the product of the axes the number of ranks");
  }
  return mesh;
}

Result<Split> ReadSplit(const JsonCursor& cursor) {
  Split split;
  if (const std::string* word = cursor.value().AsString()) {
    if (*word == "balanced") split.kind = Split::Kind::kBalanced;
    if (*word == "chunk" || *word == "balanced") return split;
    return cursor.Fail("'" + *word + "' is no split",
                       R"(use "chunk", "balanced" or one list of sizes per mesh axis)");
  }
  split.kind = Split::Kind::kSizes;
  const auto lists = cursor.Elements();
  if (!lists) return tl::unexpected(lists.error());
  for (const JsonCursor& list : *lists) {
    Result<std::vector<std::int64_t>> sizes = list.AsIntegers(kNotNegativeInteger);
    if (!sizes) return tl::unexpected(sizes.error());
    split.sizes.push_back(std::move(*sizes));
  }
  return split;
}

// The axes in the order their placements are applied in: all that cut, each once.
Result<std::vector<int>> ReadOrder(const JsonCursor& cursor, const Mesh& mesh,
                                   const std::vector<Placement>& placements) {
  const Result<std::vector<std::string>> names = cursor.AsStrings();
  if (!names) return tl::unexpected(names.error());
  std::vector<int> order;
  for (const std::string& name : *names) {
    const auto axis = std::find_if(mesh.axes.begin(), mesh.axes.end(),
                                   [&](const MeshAxis& other) { return other.name == name; });
    if (axis == mesh.axes.end()) return cursor.Fail("the mesh has no axis '" + name + "'");
    const int index = static_cast<int>(axis - mesh.axes.begin());
    if (std::find(order.begin(), order.end(), index) != order.end()) {
      return cursor.Fail("axis '" + name + "' is listed twice");
    }
    order.push_back(index);
  }
  for (std::size_t axis = 0; axis < std::min(placements.size(), mesh.axes.size()); ++axis) {
    if (placements[axis].Cuts() &&
        std::find(order.begin(), order.end(), static_cast<int>(axis)) == order.end()) {
      return cursor.Fail("axis '" + mesh.axes[axis].name + "' cuts and is missing here");
    }
  }
  return order;
}

// The fields mesh, placements, split and order of an entry.
Result<std::size_t> ReadSharding(const JsonCursor& cursor, const MeshNames& names,
                                 const std::vector<Mesh>& meshes, Sharding& sharding) {
  const Result<std::string> name = cursor.String("mesh");
  if (!name) return tl::unexpected(name.error());
  const auto mesh = names.find(*name);
  if (mesh == names.end()) {
    return cursor.Field("mesh")->Fail("there is no mesh '" + *name + "'", "add it to meshes");
  }
  const auto placements = cursor.Elements("placements");
  if (!placements) return tl::unexpected(placements.error());
  for (const JsonCursor& element : *placements) {
    const Result<std::string> text = element.AsString();
    if (!text) return tl::unexpected(text.error());
    const Result<Placement> placement = AtCursor(element, ParsePlacement(*text));
    if (!placement) return tl::unexpected(placement.error());
    sharding.placements.push_back(*placement);
  }
  if (const std::optional<JsonCursor> split = cursor.Find("split")) {
    Result<Split> read = ReadSplit(*split);
    if (!read) return tl::unexpected(read.error());
    sharding.split = std::move(*read);
  }
  sharding.order.resize(meshes[mesh->second].axes.size());
  std::iota(sharding.order.begin(), sharding.order.end(), 0);
  if (const std::optional<JsonCursor> order = cursor.Find("order")) {
    Result<std::vector<int>> read = ReadOrder(*order, meshes[mesh->second], sharding.placements);
    if (!read) return tl::unexpected(read.error());
    sharding.order = std::move(*read);
  }
  return mesh->second;
}

Result<NamePattern> ReadPattern(const JsonCursor& cursor) {
  const Result<std::string> text = cursor.AsString();
  if (!text) return tl::unexpected(text.error());
  return AtCursor(cursor, NamePattern::Parse(*text));
}

Result<ExplicitRule> ReadRule(const JsonCursor& cursor, const MeshNames& names,
                              const std::vector<Mesh>& meshes) {
  const Result<bool> held = cursor.BoolOr("held", true);
  if (!held) return tl::unexpected(held.error());
  const Result<void> known =
      *held ? cursor.ExpectFields({"match", "held", "mesh", "placements", "split", "order"})
            : cursor.ExpectFields({"match", "held"});
  if (!known) return tl::unexpected(known.error());
  const Result<JsonCursor> match = cursor.Field("match");
  if (!match) return tl::unexpected(match.error());
  Result<NamePattern> pattern = ReadPattern(*match);
  if (!pattern) return tl::unexpected(pattern.error());
  ExplicitRule rule{cursor.Place(), std::move(*pattern), std::nullopt, {}};
  if (!*held) return rule;
  const Result<std::size_t> mesh = ReadSharding(cursor, names, meshes, rule.sharding);
  if (!mesh) return tl::unexpected(mesh.error());
  rule.mesh = *mesh;
  return rule;
}

Result<std::optional<DType>> ReadDType(const JsonCursor& cursor) {
  const std::optional<JsonCursor> field = cursor.Find("dtype");
  if (!field) return std::optional<DType>();
  const Result<std::string> name = field->AsString();
  if (!name) return tl::unexpected(name.error());
  const std::optional<DType> dtype = DTypeFromName(*name);
  if (!dtype) return field->Fail("'" + *name + "' is no dtype");
  return dtype;
}

// The fields local and zeroExcept.
Result<void> ReadLocal(const JsonCursor& cursor, const Mesh& mesh, ExplicitParameter& parameter) {
  if (const std::optional<JsonCursor> local = cursor.Find("local")) {
    Result<std::vector<ValueStep>> steps = ReadValueSteps(*local, "local");
    if (!steps) return tl::unexpected(steps.error());
    parameter.local = std::move(*steps);
  }
  const std::optional<JsonCursor> except = cursor.Find("zeroExcept");
  if (!except) return {};
  const auto members = except->Members();
  if (!members) return tl::unexpected(members.error());
  for (const auto& [name, field] : *members) {
    const auto axis =
        std::find_if(mesh.axes.begin(), mesh.axes.end(),
                     [&, &axis_name = name](const MeshAxis& a) { return a.name == axis_name; });
    if (axis == mesh.axes.end()) {
      return except->Fail("the mesh has no axis '" + std::string(name) + "'");
    }
    Result<std::vector<std::int64_t>> coordinates = field.AsIntegers({0, axis->size - 1});
    if (!coordinates) return tl::unexpected(coordinates.error());
    parameter.zero_except.push_back(
        {static_cast<int>(axis - mesh.axes.begin()), std::move(*coordinates)});
  }
  return {};
}

Result<ExplicitParameter> ReadParameter(const JsonCursor& cursor, const MeshNames& names,
                                        const std::vector<Mesh>& meshes) {
  std::vector<std::string_view> fields = {"name",  "mesh",  "placements", "split",
                                          "order", "local", "zeroExcept", "dtype"};
  fields.insert(fields.end(), kValueFields.begin(), kValueFields.end());
  if (const Result<void> known = cursor.ExpectFields(fields); !known) {
    return tl::unexpected(known.error());
  }
  const Result<JsonCursor> name = cursor.Field("name");
  if (!name) return tl::unexpected(name.error());
  Result<NamePattern> pattern = ReadPattern(*name);
  if (!pattern) return tl::unexpected(pattern.error());
  if (pattern->HasStar()) return name->Fail("a name takes {piece} but no *");
  Result<ExplicitValue> value = ReadPartsValue(cursor, "");
  if (!value) return tl::unexpected(value.error());
  ExplicitParameter parameter{
      cursor.Place(), std::move(*pattern), std::move(*value), std::nullopt, {}, {}, {},
      std::nullopt};
  const Result<std::optional<DType>> dtype = ReadDType(cursor);
  if (!dtype) return tl::unexpected(dtype.error());
  parameter.dtype = *dtype;
  const bool cut_here = cursor.Has("mesh") || cursor.Has("placements");
  if (cut_here) {
    const Result<std::size_t> mesh = ReadSharding(cursor, names, meshes, parameter.sharding);
    if (!mesh) return tl::unexpected(mesh.error());
    parameter.mesh = *mesh;
    if (const Result<void> read = ReadLocal(cursor, meshes[*mesh], parameter); !read) {
      return tl::unexpected(read.error());
    }
  }
  for (const std::string_view field : {"split", "order", "local", "zeroExcept"}) {
    if (!cut_here && cursor.Has(field)) {
      return cursor.Fail(std::string(field) + " belongs to a mesh and placements");
    }
  }
  return parameter;
}

Result<void> ReadTensorBox(const JsonCursor& cursor, ExplicitRegion& region) {
  Result<std::string> tensor = cursor.String("tensor");
  if (!tensor) return tl::unexpected(tensor.error());
  if (tensor->empty()) return cursor.Field("tensor")->Fail("a tensor without a name");
  region.tensor = std::move(*tensor);
  const auto box = cursor.Elements("box");
  if (!box) return tl::unexpected(box.error());
  for (const JsonCursor& dim : *box) {
    const Result<std::vector<std::int64_t>> range = dim.AsIntegers(kNotNegativeInteger);
    if (!range) return tl::unexpected(range.error());
    if (range->size() != 2 || range->front() > range->back()) {
      return dim.Fail("expected [start, stop) with start <= stop");
    }
    region.box.push_back({range->front(), range->back()});
  }
  return {};
}

Result<void> ReadZeros(const JsonCursor& cursor, ExplicitRegion& region) {
  const Result<std::vector<std::int64_t>> extents = cursor.Integers("zeros", kNotNegativeInteger);
  if (!extents) return tl::unexpected(extents.error());
  for (const std::int64_t extent : *extents) region.box.push_back({0, extent});
  const Result<std::optional<DType>> dtype = ReadDType(cursor);
  if (!dtype) return tl::unexpected(dtype.error());
  region.dtype = *dtype;
  return {};
}

Result<ExplicitRegion> ReadRegion(const JsonCursor& cursor, std::int64_t rank_count) {
  const bool zeros = cursor.Has("zeros");
  const Result<void> known =
      zeros ? cursor.ExpectFields({"rank", "zeros", "dtype", "parameter", "shape", "at", "strides"})
            : cursor.ExpectFields({"rank", "tensor", "box", "parameter", "shape", "at", "strides"});
  if (!known) return tl::unexpected(known.error());
  ExplicitRegion region;
  region.place = cursor.Place();
  const Result<std::int64_t> rank = cursor.Integer("rank", {0, rank_count - 1});
  if (!rank) return tl::unexpected(rank.error());
  region.rank = static_cast<std::int32_t>(*rank);
  const Result<void> content = zeros ? ReadZeros(cursor, region) : ReadTensorBox(cursor, region);
  if (!content) return tl::unexpected(content.error());
  Result<std::string> parameter = cursor.String("parameter");
  if (!parameter) return tl::unexpected(parameter.error());
  region.parameter = std::move(*parameter);
  Result<std::vector<std::int64_t>> shape = cursor.Integers("shape", kNotNegativeInteger);
  if (!shape) return tl::unexpected(shape.error());
  region.shape = std::move(*shape);
  Result<std::vector<std::int64_t>> at = cursor.Integers("at", kNotNegativeInteger);
  if (!at) return tl::unexpected(at.error());
  region.at = std::move(*at);
  Result<std::vector<std::int64_t>> strides = cursor.IntegersOrNone("strides", kPositiveInteger);
  if (!strides) return tl::unexpected(strides.error());
  region.strides = std::move(*strides);
  return region;
}

}  // namespace

Result<ExplicitWords> ReadExplicitWords(const JsonCursor& layout, std::int64_t rank_count) {
  const Result<void> known = layout.ExpectFields({"meshes", "tensors", "parameters", "regions"});
  if (!known) return tl::unexpected(known.error());
  ExplicitWords words;
  MeshNames names;
  if (const std::optional<JsonCursor> meshes = layout.Find("meshes")) {
    const auto members = meshes->Members();
    if (!members) return tl::unexpected(members.error());
    for (const auto& [name, cursor] : *members) {
      Result<Mesh> mesh = ReadMesh(cursor, rank_count);
      if (!mesh) return tl::unexpected(mesh.error());
      names.emplace(name, words.meshes.size());
      words.meshes.push_back(std::move(*mesh));
    }
  }
  const auto rules = layout.ElementsOrNone("tensors");
  if (!rules) return tl::unexpected(rules.error());
  for (const JsonCursor& cursor : *rules) {
    Result<ExplicitRule> rule = ReadRule(cursor, names, words.meshes);
    if (!rule) return tl::unexpected(rule.error());
    words.rules.push_back(std::move(*rule));
  }
  const auto parameters = layout.ElementsOrNone("parameters");
  if (!parameters) return tl::unexpected(parameters.error());
  for (const JsonCursor& cursor : *parameters) {
    Result<ExplicitParameter> parameter = ReadParameter(cursor, names, words.meshes);
    if (!parameter) return tl::unexpected(parameter.error());
    words.parameters.push_back(std::move(*parameter));
  }
  const auto regions = layout.ElementsOrNone("regions");
  if (!regions) return tl::unexpected(regions.error());
  for (const JsonCursor& cursor : *regions) {
    Result<ExplicitRegion> region = ReadRegion(cursor, rank_count);
    if (!region) return tl::unexpected(region.error());
    words.regions.push_back(std::move(*region));
  }
  return words;
}

}  // namespace reshard
