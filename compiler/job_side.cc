#include "compiler/job_side.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "compiler/layout/index_list.h"

namespace reshard {
namespace {

Result<std::vector<std::int32_t>> ReadGpus(const JsonCursor& group, const Cluster& cluster,
                                           std::vector<bool>& taken) {
  const Result<std::string> text = group.String("gpus");
  if (!text) return tl::unexpected(text.error());
  const JsonCursor cursor = *group.Field("gpus");
  Result<std::vector<std::int32_t>> gpus =
      ParseIndexList(*text, static_cast<std::int64_t>(cluster.gpus.size()));
  if (!gpus) return cursor.Fail(gpus.error().reason, gpus.error().remedy);
  for (const std::int32_t gpu : *gpus) {
    const auto index = static_cast<std::size_t>(gpu);
    if (cluster.gpus[index].dead) {
      return cursor.Fail("GPU " + std::to_string(gpu) + " is dead in this cluster", "leave it out");
    }
    if (taken[index]) {
      return cursor.Fail("GPU " + std::to_string(gpu) +
                         " is in another group of this side already");
    }
    taken[index] = true;
  }
  return gpus;
}

Result<SideGroup> ReadGroup(const JsonCursor& cursor, const Model& model, const Cluster& cluster,
                            const Folder& folder, std::vector<bool>& taken) {
  SideGroup group;
  group.place = cursor.Place();
  const Result<void> known = cursor.ExpectFields({"gpus", "layout", "casts"});
  if (!known) return tl::unexpected(known.error());
  if (const std::optional<JsonCursor> casts = cursor.Find("casts")) {
    return casts->Fail("casts are not supported: both sides must hold a tensor in one dtype",
                       "leave casts out");
  }
  Result<std::vector<std::int32_t>> gpus = ReadGpus(cursor, cluster, taken);
  if (!gpus) return tl::unexpected(gpus.error());
  group.gpus = std::move(*gpus);

  const Result<JsonCursor> layout = cursor.Field("layout");
  if (!layout) return tl::unexpected(layout.error());
  const auto members = layout->Members();
  if (!members) return tl::unexpected(members.error());
  if (members->size() != 1) {
    return layout->Fail("expected one kind of layout, got " + std::to_string(members->size()),
                        "name one of " + LayoutKinds());
  }
  const auto& [kind, fields] = members->front();
  const LayoutBuilder build = FindLayoutBuilder(kind);
  if (build == nullptr) {
    return layout->Fail("layout kind '" + std::string(kind) + "' is not supported",
                        "use one of " + LayoutKinds());
  }
  group.kind = kind;
  const auto rank_count = static_cast<std::int64_t>(group.gpus.size());
  if (fields.value().AsString() != nullptr && kind == "explicit") {
    Result<JsonDocument> file = folder.Read(fields);
    if (!file) return tl::unexpected(file.error());
    Result<GroupLayout> built = build(model, JsonCursor(*file), rank_count);
    if (!built) return tl::unexpected(built.error());
    group.layout = std::move(*built);
    group.layout_fields = std::move(file->root);
    return group;
  }
  Result<GroupLayout> built = build(model, fields, rank_count);
  if (!built) return tl::unexpected(built.error());
  group.layout = std::move(*built);
  group.layout_fields = fields.value();
  return group;
}

}  // namespace

Result<Side> ReadSide(const JsonCursor& cursor, const std::string& name, const Model& model,
                      const Cluster& cluster, const Folder& folder) {
  Side side{name, {}};
  std::vector<JsonCursor> groups = {cursor};
  if (cursor.value().AsArray() != nullptr) groups = *cursor.Elements();
  if (groups.empty()) return cursor.Fail("a side without groups");
  std::vector<bool> taken(cluster.gpus.size(), false);
  for (const JsonCursor& element : groups) {
    Result<SideGroup> group = ReadGroup(element, model, cluster, folder, taken);
    if (!group) return tl::unexpected(group.error());
    side.groups.push_back(std::move(*group));
  }
  return side;
}

JsonValue SideToJson(const Side& side) {
  JsonValue::Array groups;
  for (const SideGroup& group : side.groups) {
    JsonValue::Object layout;
    layout.emplace_back(group.kind, group.layout_fields);
    JsonValue::Object object;
    object.emplace_back("gpus", FormatIndexList(group.gpus));
    object.emplace_back("layout", std::move(layout));
    groups.emplace_back(std::move(object));
  }
  return groups;
}

}  // namespace reshard
