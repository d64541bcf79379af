#include "compiler/job/job_edit.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/layout/engines.h"
#include "compiler/layout/index_list.h"
#include "compiler/layout/megatron_degrees.h"
#include "compiler/layout/vllm_degrees.h"
#include "foundation/json_edit.h"
#include "foundation/json_writer.h"
#include "foundation/nearest_name.h"
#include "foundation/strict_json.h"
#include "topology/cluster_builder.h"
#include "topology/cluster_edit.h"
#include "topology/cluster_reader.h"
#include "topology/cluster_writer.h"

namespace reshard {
namespace {

constexpr std::array<std::string_view, 2> kSides = {"source", "destination"};
constexpr auto kOptionKeys = std::to_array<std::string_view>(
    {"planner", "stagingMiB", "chunkMiB", "maxOpsPerGroup", "maxPeers", "nicShare"});

constexpr auto kClusterKeys = std::to_array<std::string_view>({"domains", "spine", "railCrossing"});

struct RateKey {
  std::string_view name;
  TypeRate rate;
};
constexpr auto kRateKeys =
    std::to_array<RateKey>({{"nicGBps", TypeRate::kNic},
                            {"nvlinkGBps", TypeRate::kNvlink},
                            {"hbmGBps", TypeRate::kHbm},
                            {"nvlinkLatencyUs", TypeRate::kNvlinkLatency},
                            {"networkLatencyUs", TypeRate::kNetworkLatency}});

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// What may be said of a layout of that kind; empty where only its reader knows.
std::span<const std::string_view> FieldsOfKind(std::string_view kind) {
  if (kind == "megatron") return kMegatronFields;
  if (kind == "vllm") return kVllmFields;
  return {};
}

// The error of an edit that has none of its own place.
Result<void> Of(const JobEdit& edit, Result<void> result) {
  if (!result && result.error().place.empty()) {
    result.error().place = "edit '" + edit.text + "'";
  }
  return result;
}

Result<void> RefuseUnknown(const JobEdit& edit) {
  std::vector<std::string_view> known(kClusterKeys.begin(), kClusterKeys.end());
  for (const RateKey& key : kRateKeys) known.push_back(key.name);
  known.insert(known.end(), kOptionKeys.begin(), kOptionKeys.end());
  known.insert(known.end(), {"source.FIELD", "destination.FIELD"});
  return RefuseEdit(edit, "there is no key '" + edit.name + "'", SuggestName(edit.name, known));
}

// What can be said of an edit before the job is known.
Result<void> CheckKey(const JobEdit& edit) {
  if (edit.part != EditPart::kKey) return {};
  const auto named = [&](const RateKey& key) { return key.name == edit.name; };
  if (std::ranges::any_of(kRateKeys, named)) return {};
  if (edit.action == EditAction::kScale) {
    return RefuseEdit(edit, "only rates and latencies take a factor", "write =VALUE");
  }
  const std::size_t dot = edit.name.find('.');
  const bool is_field = dot != std::string::npos && Contains(kSides, edit.name.substr(0, dot));
  if (is_field || Contains(kClusterKeys, edit.name) || Contains(kOptionKeys, edit.name)) return {};
  return RefuseUnknown(edit);
}

class JobEditor {
 public:
  explicit JobEditor(JsonDocument& document) : document_(document) {}

  Result<void> Apply(const JobEdit& edit) {
    if (Result<void> fine = CheckKey(edit); !fine) return fine;
    if (edit.part != EditPart::kKey) {
      return ChangeCluster([&](ClusterDescription& cluster) { return ChangePart(edit, cluster); });
    }
    for (const RateKey& key : kRateKeys) {
      if (key.name != edit.name) continue;
      return ChangeCluster([&](ClusterDescription& cluster) -> Result<void> {
        const Result<double> number = NumberOf(edit);
        if (!number) return tl::unexpected(number.error());
        ChangeTypes(key.rate, {*number, edit.action == EditAction::kScale}, cluster);
        return {};
      });
    }
    if (edit.name == "domains") return Deal(edit);
    if (edit.name == "spine") return Spine(edit);
    if (edit.name == "railCrossing") return SetRailCrossing(edit);
    if (Contains(kOptionKeys, edit.name)) {
      return Of(edit, SetJson(document_, "options." + edit.name, edit.value));
    }
    const std::size_t dot = edit.name.find('.');
    return SetLayoutField(edit, edit.name.substr(0, dot), edit.name.substr(dot + 1));
  }

  // After all edits, when the degrees that form engines are known.
  Result<void> DropDead() {
    for (const std::string_view side : kSides) {
      if (Result<void> dropped = DropDeadOf(side); !dropped) return dropped;
    }
    return {};
  }

 private:
  template <typename Change>
  Result<void> ChangeCluster(const Change& change) {
    JsonValue* const field = document_.root.Find("cluster");
    if (field == nullptr) return InputError(document_.name, "field 'cluster' is missing");
    Result<ClusterDescription> description =
        ReadClusterDescription(*JsonCursor(document_).Find("cluster"));
    if (!description) return tl::unexpected(description.error());
    if (Result<void> changed = change(*description); !changed) return changed;
    *field = ClusterToJson(*description);
    return {};
  }

  Result<void> ChangePart(const JobEdit& edit, ClusterDescription& cluster) {
    RateChange change;  // dead: rate 0
    if (edit.action != EditAction::kKill) {
      const Result<double> number = NumberOf(edit);
      if (!number) return tl::unexpected(number.error());
      change = {*number, edit.action == EditAction::kScale};
    }
    for (const std::int32_t number : edit.numbers) {
      Result<void> changed = Of(edit, ChangeOne(edit, number, change, cluster));
      if (!changed) return changed;
    }
    return {};
  }

  Result<void> ChangeOne(const JobEdit& edit, std::int32_t number, RateChange change,
                         ClusterDescription& cluster) {
    const bool kill = edit.action == EditAction::kKill;
    switch (edit.part) {
      case EditPart::kNic:
        return ChangeNic(number, change, cluster);
      case EditPart::kRail:
        return ChangeRail(number, change, cluster);
      case EditPart::kGpu:
        if (kill) return Kill({number}, cluster);
        return edit.name == "nvlink" ? ChangeNvlinkOfGpu(number, change, cluster)
                                     : ChangeNicsOfGpu(number, change, cluster);
      case EditPart::kDomain:
        if (kill) return KillAllOf(number, cluster);
        return edit.name == "nvlink" ? ChangeNvlinkOfDomain(number, change, cluster)
                                     : ChangeNicsOfDomain(number, change, cluster);
      case EditPart::kKey:
        break;
    }
    return {};
  }

  Result<void> KillAllOf(std::int32_t domain, ClusterDescription& description) {
    const Result<std::vector<GpuIndex>> gpus = KillDomain(domain, description);
    if (!gpus) return tl::unexpected(gpus.error());
    dead_.insert(gpus->begin(), gpus->end());
    return {};
  }

  Result<void> Kill(const std::vector<GpuIndex>& gpus, ClusterDescription& cluster) {
    for (const GpuIndex gpu : gpus) {
      if (Result<void> killed = KillGpu(gpu, cluster); !killed) return killed;
      dead_.insert(gpu);
    }
    return {};
  }

  Result<void> Deal(const JobEdit& edit) {
    const Result<double> count = NumberOf(edit);
    if (!count) return tl::unexpected(count.error());
    if (*count != static_cast<double>(static_cast<std::int64_t>(*count)) || *count < 1) {
      return RefuseEdit(edit, "'" + edit.value + "' is no number of domains");
    }
    return ChangeCluster([&](ClusterDescription& cluster) {
      return Of(edit, DealDomains(static_cast<std::int64_t>(*count), cluster));
    });
  }

  Result<void> Spine(const JobEdit& edit) {
    const Result<double> oversubscription = NumberOf(edit);
    if (!oversubscription) return tl::unexpected(oversubscription.error());
    return ChangeCluster([&](ClusterDescription& cluster) {
      return Of(edit, SetSpine(*oversubscription, cluster));
    });
  }

  Result<void> SetRailCrossing(const JobEdit& edit) {
    if (edit.value != "SPINE") {
      const Result<void> spine = SetJson(document_, "cluster.fabric.spineOversubscription", "1");
      if (!spine) return spine;
    }
    return SetJson(document_, "cluster.fabric.railCrossing", edit.value);
  }

  // The groups of a side: an array in the canonical text.
  JsonValue::Array* GroupsOf(std::string_view side) {
    JsonValue* const field = document_.root.Find(side);
    return field == nullptr ? nullptr : field->AsArray();
  }

  // The layout of a group: its kind and the fields behind it; nullptr if it is no such thing.
  static JsonValue::Member* LayoutOf(JsonValue& group) {
    JsonValue* const layout = group.Find("layout");
    JsonValue::Object* const kinds = layout == nullptr ? nullptr : layout->AsObject();
    return kinds == nullptr || kinds->size() != 1 ? nullptr : &kinds->front();
  }

  Result<void> SetLayoutField(const JobEdit& edit, const std::string& side,
                              const std::string& name) {
    JsonValue::Array* const groups = GroupsOf(side);
    if (groups == nullptr) return InputError(document_.name, side + " has no groups");
    for (std::size_t g = 0; g < groups->size(); ++g) {
      const JsonValue::Member* const layout = LayoutOf((*groups)[g]);
      if (layout == nullptr) return InputError(document_.name, side + " has no layout");
      if (layout->first == "explicit") {
        return RefuseEdit(edit, "the " + side + " has an explicit layout, which knows no degrees");
      }
      const std::span<const std::string_view> known = FieldsOfKind(layout->first);
      if (name.empty() || (!known.empty() && !Contains(known, name))) {
        return RefuseEdit(edit, "a " + layout->first + " layout has no '" + name + "'",
                          SuggestName(name, known));
      }
      std::string path = side + "." + std::to_string(g) + ".layout.";
      path += PathSegment(layout->first) + "." + PathSegment(name);
      if (Result<void> set = Of(edit, SetJson(document_, path, edit.value)); !set) return set;
    }
    return {};
  }

  Result<void> DropDeadOf(std::string_view side) {
    JsonValue::Array* const groups = GroupsOf(side);
    if (groups == nullptr || dead_.empty()) return {};
    std::size_t left = 0;
    for (JsonValue& group : *groups) {
      const Result<std::vector<std::int32_t>> gpus = ListIn(group, "gpus");
      if (!gpus) return tl::unexpected(gpus.error());
      const Result<std::int64_t> together = RanksDroppedTogether(side, group, *gpus);
      if (!together) return tl::unexpected(together.error());
      Result<std::vector<std::int32_t>> absent = ListIn(group, "without");
      if (!absent) return tl::unexpected(absent.error());
      const std::vector<std::int32_t> dropped = Dropped(*gpus, *together);
      absent->insert(absent->end(), dropped.begin(), dropped.end());
      std::sort(absent->begin(), absent->end());
      absent->erase(std::unique(absent->begin(), absent->end()), absent->end());
      left += gpus->size() - absent->size();
      if (dropped.empty()) continue;
      JsonValue text = FormatIndexList(*absent);
      if (JsonValue* const field = group.Find("without")) {
        *field = std::move(text);
      } else {
        group.AsObject()->emplace_back("without", std::move(text));
      }
    }
    if (left == 0) {
      return InputError("", side == "source" ? "no GPU of the source is left"
                                             : "no inference engine of the destination is left");
    }
    return {};
  }

  // The index list in a field; empty if it is absent.
  Result<std::vector<std::int32_t>> ListIn(const JsonValue& group, std::string_view name) const {
    const JsonValue* const field = group.Find(name);
    if (field == nullptr) return std::vector<std::int32_t>{};
    const std::string* const text = field->AsString();
    if (text == nullptr) return InputError(document_.name, std::string(name) + " is no string");
    return ParseIndexList(*text, kMaxGpus);
  }

  static Result<std::int64_t> RanksDroppedTogether(std::string_view side, JsonValue& group,
                                                   const std::vector<std::int32_t>& gpus) {
    const JsonValue::Member* const layout = LayoutOf(group);
    if (side == "source" || layout == nullptr) return 1;
    const JsonDocument fields{std::string(side), layout->second};
    return RanksPerEngine(layout->first, JsonCursor(fields),
                          static_cast<std::int64_t>(gpus.size()));
  }

  // The GPUs of every run of `together` that has a dead one.
  std::vector<std::int32_t> Dropped(const std::vector<std::int32_t>& gpus,
                                    std::int64_t together) const {
    std::vector<std::int32_t> dropped;
    const auto step = static_cast<std::size_t>(together);
    for (std::size_t first = 0; first < gpus.size(); first += step) {
      const auto run = std::span(gpus).subspan(first, std::min(step, gpus.size() - first));
      if (std::ranges::any_of(run, [this](std::int32_t gpu) { return dead_.contains(gpu); })) {
        dropped.insert(dropped.end(), run.begin(), run.end());
      }
    }
    return dropped;
  }

  JsonDocument& document_;
  std::set<std::int32_t> dead_;
};

}  // namespace

Result<std::string> EditJob(const std::string& job_json, std::span<const JobEdit> edits) {
  Result<JsonDocument> document = ParseJson(job_json, "edited job");
  if (!document) return tl::unexpected(document.error());
  JobEditor editor(*document);
  for (const JobEdit& edit : edits) {
    if (Result<void> applied = editor.Apply(edit); !applied) {
      return tl::unexpected(applied.error());
    }
  }
  if (Result<void> dropped = editor.DropDead(); !dropped) return tl::unexpected(dropped.error());
  return CanonicalJson(document->root);
}

Result<void> CheckEditKeys(std::span<const JobEdit> edits) {
  for (const JobEdit& edit : edits) {
    if (Result<void> fine = CheckKey(edit); !fine) return fine;
  }
  return {};
}

}  // namespace reshard
