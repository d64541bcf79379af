#include "topology/cluster_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "foundation/nearest_name.h"
#include "foundation/strict_json.h"
#include "topology/builtin_types.h"
#include "topology/cluster_builder.h"

namespace reshard {
namespace {

// Of a type that gives none.
const DomainType& BuiltinLatencies() {
  static const DomainType type = *BuiltinType("gb200-nvl72");
  return type;
}

constexpr IntegerRange kGpuCount{1, kMaxGpus};
constexpr IntegerRange kRail{0, 65535};
constexpr IntegerRange kIndex{0, std::numeric_limits<std::int32_t>::max()};
constexpr NumberRange kOversubscription{1, std::numeric_limits<double>::max(), false};

// Reads of one object one after another: the first error stays, later reads are idle. Spares every
// field its own check.
class FieldReader {
 public:
  explicit FieldReader(const JsonCursor& cursor) : cursor_(cursor) {}

  template <typename Target, typename Value>
  FieldReader& Read(Target& target, Result<Value> value) {
    if (error_) return *this;
    if (value) {
      target = static_cast<Target>(*std::move(value));
    } else {
      error_ = std::move(value.error());
    }
    return *this;
  }
  FieldReader& Check(Result<void> checked) {
    if (!error_ && !checked) error_ = std::move(checked.error());
    return *this;
  }
  const JsonCursor& cursor() const { return cursor_; }
  bool failed() const { return error_.has_value(); }
  // `value`, or the first error.
  template <typename T>
  Result<T> Finish(T value) {
    if (error_) return tl::unexpected(*std::move(error_));
    return value;
  }

 private:
  JsonCursor cursor_;
  std::optional<Error> error_;
};

// Sorted; fails on an empty list or an index that stands twice.
Result<std::vector<std::int32_t>> ReadIndexSet(const JsonCursor& object, std::string_view name,
                                               const IntegerRange& range) {
  const Result<JsonCursor> field = object.Field(name);
  if (!field) return tl::unexpected(field.error());
  const Result<std::vector<std::int64_t>> values = field->AsIntegers(range);
  if (!values) return tl::unexpected(values.error());
  std::vector<std::int32_t> indices(values->begin(), values->end());
  if (indices.empty()) return field->Fail("is empty", "list at least one");
  std::sort(indices.begin(), indices.end());
  const auto twin = std::adjacent_find(indices.begin(), indices.end());
  if (twin != indices.end()) return field->Fail(std::to_string(*twin) + " stands twice");
  return indices;
}

Result<NicType> ReadNicType(const JsonCursor& cursor, std::int32_t position,
                            std::int32_t gpus_per_node) {
  NicType nic;
  FieldReader reader(cursor);
  reader.Check(cursor.ExpectFields({"gpus", "GBps", "rail"}))
      .Read(nic.gpus, ReadIndexSet(cursor, "gpus", {0, gpus_per_node - 1}))
      .Read(nic.gbps, cursor.Number("GBps", kNotNegativeNumber))
      .Read(nic.rail, cursor.IntegerOr("rail", position, kRail));
  return reader.Finish(std::move(nic));
}

Result<std::vector<NicType>> ReadNicTypes(const JsonCursor& type, std::int32_t gpus_per_node) {
  const Result<std::vector<JsonCursor>> elements = type.Elements("nics");
  if (!elements) return tl::unexpected(elements.error());
  std::vector<NicType> nics;
  for (const JsonCursor& element : *elements) {
    Result<NicType> nic =
        ReadNicType(element, static_cast<std::int32_t>(nics.size()), gpus_per_node);
    if (!nic) return tl::unexpected(std::move(nic.error()));
    nics.push_back(*std::move(nic));
  }
  return nics;
}

Result<DomainType> ReadDomainType(std::string_view name, const JsonCursor& cursor) {
  DomainType type;
  type.name = name;
  FieldReader reader(cursor);
  reader
      .Check(cursor.ExpectFields({"gpus", "gpusPerNode", "nvlinkGBps", "hbmGBps", "nics",
                                  "nvlinkLatencyUs", "networkLatencyUs"}))
      .Read(type.gpu_count, cursor.Integer("gpus", kGpuCount))
      .Read(type.hbm_gbps, cursor.Number("hbmGBps", kPositiveNumber))
      .Read(type.nvlink_latency_us,
            cursor.NumberOr("nvlinkLatencyUs", BuiltinLatencies().nvlink_latency_us,
                            kNotNegativeNumber))
      .Read(type.network_latency_us,
            cursor.NumberOr("networkLatencyUs", BuiltinLatencies().network_latency_us,
                            kNotNegativeNumber));
  if (reader.failed()) return reader.Finish(std::move(type));
  reader
      .Read(type.gpus_per_node,
            cursor.IntegerOr("gpusPerNode", type.gpu_count, {1, type.gpu_count}))
      .Read(type.nvlink_gbps, type.gpu_count == 1
                                  ? cursor.NumberOr("nvlinkGBps", 0, kNotNegativeNumber)
                                  : cursor.Number("nvlinkGBps", kNotNegativeNumber));
  if (reader.failed()) return reader.Finish(std::move(type));
  reader.Read(type.nics, ReadNicTypes(cursor, type.gpus_per_node));
  return reader.Finish(std::move(type));
}

using TypesByName = std::map<std::string, DomainType, std::less<>>;

Result<TypesByName> ReadTypes(const JsonCursor& cluster) {
  TypesByName types;
  for (const std::string_view name : BuiltinTypeNames()) {
    types.emplace(name, *BuiltinType(name));
  }
  const std::optional<JsonCursor> field = cluster.Find("types");
  if (!field) return types;
  const auto members = field->Members();
  if (!members) return tl::unexpected(members.error());
  for (const auto& [name, value] : *members) {
    Result<DomainType> type = ReadDomainType(name, value);
    if (!type) return tl::unexpected(std::move(type.error()));
    types.insert_or_assign(std::string(name), *std::move(type));
  }
  return types;
}

// One element of "domains" and the type it names.
struct NamedEntry {
  DomainEntry entry;
  const DomainType* type = nullptr;
};

Result<const DomainType*> ReadTypeName(const JsonCursor& cursor, const TypesByName& types) {
  const Result<JsonCursor> field = cursor.Field("type");
  if (!field) return tl::unexpected(field.error());
  const Result<std::string> name = field->AsString();
  if (!name) return tl::unexpected(name.error());
  const auto found = types.find(*name);
  if (found != types.end()) return &found->second;
  std::vector<std::string_view> known;
  known.reserve(types.size());
  for (const auto& [known_name, type] : types) known.push_back(known_name);
  return field->Fail("there is no type '" + *name + "'", SuggestName(*name, known));
}

Result<NamedEntry> ReadEntry(const JsonCursor& cursor, const TypesByName& types) {
  NamedEntry named;
  FieldReader reader(cursor);
  reader.Check(cursor.ExpectFields({"type", "gpus", "count"}))
      .Read(named.type, ReadTypeName(cursor, types));
  if (reader.failed()) return reader.Finish(named);
  const std::int32_t all = named.type->gpu_count;
  reader.Read(named.entry.gpu_count, cursor.IntegerOr("gpus", all, {1, all}))
      .Read(named.entry.count, cursor.IntegerOr("count", 1, kPositiveInteger));
  return reader.Finish(named);
}

// Fills entries, and types with those the entries use.
Result<void> ReadDomains(const JsonCursor& cluster, const TypesByName& types,
                         ClusterDescription& description) {
  const Result<JsonCursor> field = cluster.Field("domains");
  if (!field) return tl::unexpected(field.error());
  const Result<std::vector<JsonCursor>> elements = field->Elements();
  if (!elements) return tl::unexpected(elements.error());
  if (elements->empty()) return field->Fail("is empty", "list at least one domain");
  std::vector<NamedEntry> named;
  std::map<std::string_view, std::int32_t> position;  // of each used type, by name
  for (const JsonCursor& element : *elements) {
    const Result<NamedEntry> entry = ReadEntry(element, types);
    if (!entry) return tl::unexpected(entry.error());
    named.push_back(*entry);
    position[entry->type->name] = 0;
  }
  for (auto& [name, index] : position) {
    index = static_cast<std::int32_t>(description.types.size());
    description.types.push_back(types.find(name)->second);
  }
  for (NamedEntry& one : named) {
    one.entry.type = position[one.type->name];
    description.entries.push_back(one.entry);
  }
  return {};
}

Result<RailCrossing> ReadRailCrossing(const JsonCursor& fabric) {
  static constexpr std::array<std::pair<std::string_view, RailCrossing>, 3> kNames = {
      {{"FULL", RailCrossing::kFull},
       {"SPINE", RailCrossing::kSpine},
       {"NONE", RailCrossing::kNone}}};
  const std::optional<JsonCursor> field = fabric.Find("railCrossing");
  if (!field) return RailCrossing::kFull;
  const Result<std::string> name = field->AsString();
  if (!name) return tl::unexpected(name.error());
  for (const auto& [known, crossing] : kNames) {
    if (known == *name) return crossing;
  }
  return field->Fail("unknown rail crossing '" + *name + "'", "use FULL, SPINE or NONE");
}

Result<std::vector<Switch>> ReadSwitches(const JsonCursor& fabric) {
  const Result<std::vector<JsonCursor>> elements = fabric.ElementsOrNone("switches");
  if (!elements) return tl::unexpected(elements.error());
  std::vector<Switch> switches;
  for (const JsonCursor& element : *elements) {
    Switch one;
    FieldReader reader(element);
    reader.Check(element.ExpectFields({"domains", "oversubscription"}))
        .Read(one.domains, ReadIndexSet(element, "domains", kIndex))
        .Read(one.oversubscription, element.NumberOr("oversubscription", 1, kOversubscription));
    Result<Switch> finished = reader.Finish(std::move(one));
    if (!finished) return tl::unexpected(std::move(finished.error()));
    switches.push_back(*std::move(finished));
  }
  return switches;
}

Result<Fabric> ReadFabric(const JsonCursor& cluster) {
  Fabric fabric;
  const std::optional<JsonCursor> field = cluster.Find("fabric");
  if (!field) return fabric;
  FieldReader reader(*field);
  reader.Check(field->ExpectFields({"railCrossing", "spineOversubscription", "switches"}))
      .Read(fabric.rail_crossing, ReadRailCrossing(*field))
      .Read(fabric.spine_oversubscription,
            field->NumberOr("spineOversubscription", 1, kOversubscription))
      .Read(fabric.switches, ReadSwitches(*field));
  if (!reader.failed() && fabric.rail_crossing != RailCrossing::kSpine &&
      fabric.spine_oversubscription != 1) {
    return field->Find("spineOversubscription")
        ->Fail("limits nothing unless railCrossing is SPINE", "remove it or set railCrossing");
  }
  return reader.Finish(std::move(fabric));
}

template <typename T>
FieldReader& ReadOptional(FieldReader& reader, std::optional<T>& target, std::string_view name,
                          Result<T> (*as)(const JsonCursor&)) {
  if (const std::optional<JsonCursor> field = reader.cursor().Find(name)) {
    reader.Read(target, as(*field));
  }
  return reader;
}

Result<std::int64_t> AsIndex(const JsonCursor& cursor) { return cursor.AsInteger(kIndex); }
Result<double> AsRate(const JsonCursor& cursor) { return cursor.AsNumber(kNotNegativeNumber); }
Result<bool> AsFlag(const JsonCursor& cursor) { return cursor.AsBool(); }

Result<Override> ReadOverride(const JsonCursor& cursor) {
  Override change;
  if (const auto object = cursor.Members(); !object) return tl::unexpected(object.error());
  const bool of_gpu = cursor.Has("gpu");
  const bool of_nic = cursor.Has("nic");
  const bool of_domain = cursor.Has("domain");
  if (of_gpu + of_nic + of_domain != 1) {
    return cursor.Fail("names not exactly one of 'gpu', 'nic' and 'domain'",
                       "write one override for each");
  }
  FieldReader reader(cursor);
  if (of_gpu) {
    reader.Check(cursor.ExpectFields({"gpu", "nicGBps", "nvlinkGBps", "dead"}));
    ReadOptional(reader, change.gpu, "gpu", AsIndex);
    ReadOptional(reader, change.nic_gbps, "nicGBps", AsRate);
    ReadOptional(reader, change.dead, "dead", AsFlag);
  } else if (of_nic) {
    reader.Check(cursor.ExpectFields({"nic", "GBps"}));
    ReadOptional(reader, change.nic, "nic", AsIndex);
    ReadOptional(reader, change.nic_gbps, "GBps", AsRate);
  } else {
    reader.Check(cursor.ExpectFields({"domain", "nvlinkGBps"}));
    ReadOptional(reader, change.domain, "domain", AsIndex);
  }
  ReadOptional(reader, change.nvlink_gbps, "nvlinkGBps", AsRate);
  if (!reader.failed() && !change.nic_gbps && !change.nvlink_gbps && !change.dead) {
    return cursor.Fail("changes nothing", of_gpu   ? "give nicGBps, nvlinkGBps or dead"
                                          : of_nic ? "give GBps"
                                                   : "give nvlinkGBps");
  }
  return reader.Finish(change);
}

Result<std::vector<Override>> ReadOverrides(const JsonCursor& cluster) {
  const Result<std::vector<JsonCursor>> elements = cluster.ElementsOrNone("overrides");
  if (!elements) return tl::unexpected(elements.error());
  std::vector<Override> overrides;
  for (const JsonCursor& element : *elements) {
    Result<Override> change = ReadOverride(element);
    if (!change) return tl::unexpected(std::move(change.error()));
    overrides.push_back(*std::move(change));
  }
  return overrides;
}

}  // namespace

Result<ClusterDescription> ReadClusterDescription(const JsonCursor& cursor) {
  ClusterDescription description;
  const bool whole_document = &cursor.value() == &cursor.document().root;
  description.place_prefix = cursor.Place() + (whole_document ? ": " : ".");
  FieldReader reader(cursor);
  reader.Check(cursor.ExpectFields({"types", "domains", "fabric", "overrides"}));
  if (reader.failed()) return reader.Finish(std::move(description));
  TypesByName types;
  reader.Read(types, ReadTypes(cursor));
  if (reader.failed()) return reader.Finish(std::move(description));
  reader.Check(ReadDomains(cursor, types, description))
      .Read(description.fabric, ReadFabric(cursor))
      .Read(description.overrides, ReadOverrides(cursor));
  return reader.Finish(std::move(description));
}

Result<Cluster> ReadCluster(const JsonCursor& cursor) {
  return ReadClusterDescription(cursor).and_then(BuildCluster);
}

Result<Cluster> ReadClusterFile(const std::string& path) {
  const Result<JsonDocument> document = ReadJsonFile(path);
  if (!document) return tl::unexpected(document.error());
  return ReadCluster(JsonCursor(*document));
}

}  // namespace reshard
