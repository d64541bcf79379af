#include "topology/cluster_writer.h"

#include <string_view>
#include <utility>

namespace reshard {
namespace {

JsonValue::Array Indices(const std::vector<std::int32_t>& indices) {
  return JsonValue::Array(indices.begin(), indices.end());
}

JsonValue TypeToJson(const DomainType& type) {
  JsonValue::Array nics;
  for (const NicType& nic : type.nics) {
    nics.emplace_back(
        JsonValue::Object{{"gpus", Indices(nic.gpus)}, {"GBps", nic.gbps}, {"rail", nic.rail}});
  }
  return JsonValue::Object{{"gpus", type.gpu_count},
                           {"gpusPerNode", type.gpus_per_node},
                           {"nvlinkGBps", type.nvlink_gbps},
                           {"hbmGBps", type.hbm_gbps},
                           {"nics", std::move(nics)},
                           {"nvlinkLatencyUs", type.nvlink_latency_us},
                           {"networkLatencyUs", type.network_latency_us}};
}

JsonValue EntriesToJson(const ClusterDescription& description) {
  std::vector<DomainEntry> joined;
  for (const DomainEntry& entry : description.entries) {
    if (!joined.empty() && joined.back().type == entry.type &&
        joined.back().gpu_count == entry.gpu_count) {
      joined.back().count += entry.count;
    } else {
      joined.push_back(entry);
    }
  }
  JsonValue::Array domains;
  for (const DomainEntry& entry : joined) {
    domains.emplace_back(JsonValue::Object{{"type", description.types[entry.type].name},
                                           {"gpus", entry.gpu_count},
                                           {"count", entry.count}});
  }
  return domains;
}

std::string_view Name(RailCrossing crossing) {
  switch (crossing) {
    case RailCrossing::kFull:
      return "FULL";
    case RailCrossing::kSpine:
      return "SPINE";
    case RailCrossing::kNone:
      break;
  }
  return "NONE";
}

JsonValue FabricToJson(const Fabric& fabric) {
  JsonValue::Array switches;
  for (const Switch& one : fabric.switches) {
    switches.emplace_back(JsonValue::Object{{"domains", Indices(one.domains)},
                                            {"oversubscription", one.oversubscription}});
  }
  return JsonValue::Object{{"railCrossing", Name(fabric.rail_crossing)},
                           {"spineOversubscription", fabric.spine_oversubscription},
                           {"switches", std::move(switches)}};
}

JsonValue OverrideToJson(const Override& change) {
  JsonValue::Object object;
  if (change.gpu) object.emplace_back("gpu", *change.gpu);
  if (change.nic) object.emplace_back("nic", *change.nic);
  if (change.domain) object.emplace_back("domain", *change.domain);
  if (change.nic_gbps) object.emplace_back(change.nic ? "GBps" : "nicGBps", *change.nic_gbps);
  if (change.nvlink_gbps) object.emplace_back("nvlinkGBps", *change.nvlink_gbps);
  if (change.dead) object.emplace_back("dead", *change.dead);
  return object;
}

}  // namespace

JsonValue ClusterToJson(const ClusterDescription& description) {
  JsonValue::Object types;
  for (const DomainType& type : description.types) types.emplace_back(type.name, TypeToJson(type));
  JsonValue::Array overrides;
  for (const Override& change : description.overrides) {
    overrides.push_back(OverrideToJson(change));
  }
  return JsonValue::Object{{"types", std::move(types)},
                           {"domains", EntriesToJson(description)},
                           {"fabric", FabricToJson(description.fabric)},
                           {"overrides", std::move(overrides)}};
}

}  // namespace reshard
