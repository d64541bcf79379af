#include "compiler/job/job_side.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "compiler/job/family_forms.h"
#include "compiler/layout/index_list.h"

namespace reshard {
namespace {

// Which of `gpus` the group's "without" names.
Result<std::vector<bool>> ReadAbsent(const JsonCursor& group, std::span<const std::int32_t> gpus,
                                     std::size_t gpu_count) {
  std::vector<bool> absent(gpus.size(), false);
  const std::optional<JsonCursor> field = group.Find("without");
  if (!field) return absent;
  const Result<std::string> text = field->AsString();
  if (!text) return tl::unexpected(text.error());
  const Result<std::vector<std::int32_t>> named =
      ParseIndexList(*text, static_cast<std::int64_t>(gpu_count));
  if (!named) return field->Fail(named.error().reason, named.error().remedy);
  for (const std::int32_t gpu : *named) {
    const auto found = std::ranges::find(gpus, gpu);
    if (found == gpus.end()) {
      return field->Fail("GPU " + std::to_string(gpu) + " is not in the group");
    }
    absent[static_cast<std::size_t>(found - gpus.begin())] = true;
  }
  return absent;
}

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
    if (taken[index]) {
      return cursor.Fail("GPU " + std::to_string(gpu) +
                         " is in another group of this side already");
    }
    taken[index] = true;
  }
  return gpus;
}

// Sets group.formed where its casts, those of the source, or what its family says of the framework
// (group.kind) say so.
Result<void> TakeForms(const Model& model, const std::vector<Cast>* inherited, SideGroup& group) {
  std::vector<Cast> casts = group.casts;
  if (inherited != nullptr) casts.insert(casts.end(), inherited->begin(), inherited->end());
  const FamilyForms forms = FindFamilyForms(model, group.kind, inherited == nullptr);
  if (casts.empty() && forms.stored.empty()) return {};
  Result<FormedModel> formed = inherited == nullptr ? SourceModel(model, casts, forms.stored)
                                                    : DestinationModel(model, casts, forms.stored);
  if (!formed) {
    formed.error().place = group.place + ": casts: " + formed.error().place;
    return tl::unexpected(formed.error());
  }
  group.formed = *std::move(formed);
  group.formed->model.functions_applied = forms.functions_applied;
  return {};
}

Result<SideGroup> ReadGroup(const JsonCursor& cursor, const Model& model, const Cluster& cluster,
                            const Folder& folder, const std::vector<Cast>* inherited,
                            std::vector<bool>& taken) {
  SideGroup group;
  group.place = cursor.Place();
  const Result<void> known = cursor.ExpectFields({"gpus", "without", "layout", "casts"});
  if (!known) return tl::unexpected(known.error());
  if (const std::optional<JsonCursor> casts = cursor.Find("casts")) {
    Result<std::vector<Cast>> read = ReadCasts(*casts, inherited == nullptr);
    if (!read) return tl::unexpected(read.error());
    group.casts = *std::move(read);
  }
  Result<std::vector<std::int32_t>> gpus = ReadGpus(cursor, cluster, taken);
  if (!gpus) return tl::unexpected(gpus.error());
  group.gpus = std::move(*gpus);
  Result<std::vector<bool>> absent = ReadAbsent(cursor, group.gpus, cluster.gpus.size());
  if (!absent) return tl::unexpected(absent.error());
  group.absent = std::move(*absent);
  for (std::size_t i = 0; i < group.gpus.size(); ++i) {
    if (group.absent[i] || !cluster.gpus[static_cast<std::size_t>(group.gpus[i])].dead) continue;
    return cursor.Field("gpus")->Fail(
        "GPU " + std::to_string(group.gpus[i]) + " is dead in this cluster",
        "leave it out, or name it in \"without\" of the group");
  }

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
  if (const Result<void> formed = TakeForms(model, inherited, group); !formed) {
    return tl::unexpected(formed.error());
  }
  const Model& own_model = group.formed ? group.formed->model : model;
  const auto rank_count = static_cast<std::int64_t>(group.gpus.size());
  if (fields.value().AsString() != nullptr && kind == "explicit") {
    Result<JsonDocument> file = folder.Read(fields);
    if (!file) return tl::unexpected(file.error());
    Result<GroupLayout> built = build(own_model, JsonCursor(*file), rank_count);
    if (!built) return tl::unexpected(built.error());
    group.layout = std::move(*built);
    group.layout_fields = std::move(file->root);
    return group;
  }
  Result<GroupLayout> built = build(own_model, fields, rank_count);
  if (!built) return tl::unexpected(built.error());
  group.layout = std::move(*built);
  group.layout_fields = fields.value();
  return group;
}

}  // namespace

Result<Side> ReadSide(const JsonCursor& cursor, const std::string& name, const Model& model,
                      const Cluster& cluster, const Folder& folder,
                      const std::vector<Cast>* inherited) {
  Side side{name, {}};
  std::vector<JsonCursor> groups = {cursor};
  if (cursor.value().AsArray() != nullptr) groups = *cursor.Elements();
  if (groups.empty()) return cursor.Fail("a side without groups");
  std::vector<bool> taken(cluster.gpus.size(), false);
  for (const JsonCursor& element : groups) {
    Result<SideGroup> group = ReadGroup(element, model, cluster, folder, inherited, taken);
    if (!group) return tl::unexpected(group.error());
    side.groups.push_back(std::move(*group));
  }
  const bool empty = std::ranges::all_of(side.groups, [](const SideGroup& group) {
    return std::ranges::find(group.absent, false) == group.absent.end();
  });
  if (empty) return cursor.Fail("no GPU of the side is left", "name fewer in \"without\"");
  return side;
}

Result<std::vector<Cast>> OutgoingCasts(const Side& source) {
  for (const SideGroup& group : source.groups) {
    if (LeaveAlike(group.casts, source.groups.front().casts)) continue;
    return InputError(group.place + ": casts",
                      "tensors leave this group in other dtypes than the first group of the source",
                      "give all source groups the same casts, or give them to the destination");
  }
  return source.groups.front().casts;
}

std::vector<TensorIndex> HeldTensors(const SideGroup& group) {
  std::vector<bool> used(group.layout.layouts.size(), false);
  for (const std::int32_t layout : group.layout.layout_of_rank) {
    used[static_cast<std::size_t>(layout)] = true;
  }
  std::vector<TensorIndex> held;
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (!used[l]) continue;
    const RegionTable& regions = group.layout.layouts[l].regions;
    for (std::int64_t r = 0; r < regions.size(); ++r) held.push_back(regions[r].tensor);
  }
  std::ranges::sort(held);
  const auto rest = std::ranges::unique(held);
  held.erase(rest.begin(), rest.end());
  return held;
}

JsonValue SideToJson(const Side& side) {
  JsonValue::Array groups;
  for (const SideGroup& group : side.groups) {
    JsonValue::Object layout;
    layout.emplace_back(group.kind, group.layout_fields);
    JsonValue::Object object;
    object.emplace_back("gpus", FormatIndexList(group.gpus));
    std::vector<std::int32_t> absent;
    for (std::size_t i = 0; i < group.gpus.size(); ++i) {
      if (group.absent[i]) absent.push_back(group.gpus[i]);
    }
    if (!absent.empty()) object.emplace_back("without", FormatIndexList(absent));
    if (!group.casts.empty()) object.emplace_back("casts", CastsToJson(group.casts));
    object.emplace_back("layout", std::move(layout));
    groups.emplace_back(std::move(object));
  }
  return groups;
}

}  // namespace reshard
