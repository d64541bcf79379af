#include "tools/description_json.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schedules/lane_names.h"

namespace reshard {
namespace {

std::string_view Name(SlotKind kind) { return kind == SlotKind::kPack ? "pack" : "receive"; }

template <typename Integer>
JsonValue Numbers(const std::vector<Integer>& numbers) {
  JsonValue::Array list;
  for (const Integer number : numbers) list.emplace_back(number);
  return list;
}

// The first round and the one after the last.
JsonValue Rounds(const RoundRange& rounds) { return JsonValue::Array{rounds.first, rounds.last}; }

// null for a rank that is not of the side.
JsonValue Side(const SideDescription& side) {
  if (side.group == kNoGroup) return nullptr;
  return JsonValue::Object{
      {"group", side.group},           {"layout", side.layout},
      {"parameters", side.parameters}, {"parameterBytes", side.parameter_bytes},
      {"regions", side.regions},       {"computedParameters", side.computed_parameters}};
}

JsonValue Slots(const std::vector<SlotDescription>& slots) {
  JsonValue::Array list;
  for (const SlotDescription& slot : slots) {
    list.emplace_back(JsonValue::Object{{"kind", Name(slot.kind)},
                                        {"offset", slot.offset},
                                        {"capacityBytes", slot.capacity},
                                        {"depth", slot.depth},
                                        {"items", slot.items},
                                        {"rounds", Rounds(slot.rounds)}});
  }
  return list;
}

JsonValue Peers(const std::vector<PeerDescription>& peers) {
  JsonValue::Array list;
  for (const PeerDescription& peer : peers) {
    list.emplace_back(JsonValue::Object{{"rank", peer.peer},
                                        {"sameDomain", peer.is_same_domain},
                                        {"sends", peer.sends},
                                        {"receives", peer.receives},
                                        {"sentBytes", peer.sent_bytes},
                                        {"receivedBytes", peer.received_bytes},
                                        {"rounds", Rounds(peer.rounds)}});
  }
  return list;
}

JsonValue Waits(const std::vector<Wait>& waits) {
  JsonValue::Array list;
  for (const Wait& wait : waits) {
    list.emplace_back(JsonValue::Object{
        {"lane", LaneName(wait.lane)}, {"on", LaneName(wait.on)}, {"lag", wait.lag}});
  }
  return list;
}

JsonValue Hops(const std::vector<HopDescription>& hops) {
  JsonValue::Array list;
  for (const HopDescription& hop : hops) {
    list.emplace_back(JsonValue::Object{{"from", hop.from},
                                        {"to", hop.to},
                                        {"sameDomain", hop.is_same_domain},
                                        {"firstRound", hop.first_round}});
  }
  return list;
}

}  // namespace

JsonValue::Object DescriptionFields(const RankDescription& description) {
  return {{"rank", description.rank},
          {"gpu", description.record.gpu},
          {"node", description.record.node},
          {"domain", description.record.domain},
          {"source", Side(description.source)},
          {"destination", Side(description.destination)},
          {"stagingBytes", description.staging_bytes},
          {"packedBytes", description.packed_bytes},
          {"unpackedBytes", description.unpacked_bytes},
          {"movedBytes", description.moved_bytes},
          {"zeroedBytes", description.zeroed_bytes},
          {"slots", Slots(description.slots)},
          {"peers", Peers(description.peers)},
          {"waits", Waits(description.waits)}};
}

JsonValue::Object DescriptionFields(const ClassDescription& description, const Plan& plan) {
  JsonValue::Array tensors;
  for (const TensorIndex tensor : description.tensors) {
    tensors.emplace_back(plan.job.tensors[static_cast<std::size_t>(tensor)].name);
  }
  JsonValue::Array columns;
  for (const ColumnDescription& column : description.columns) {
    columns.emplace_back(
        JsonValue::Object{{"column", column.column},
                          {"range", JsonValue::Array{column.bytes.begin, column.bytes.end}},
                          {"chunks", column.chunks},
                          {"hops", Hops(column.hops)},
                          {"localMoves", Numbers(column.local_moves)}});
  }
  return {{"class", description.demand_class},
          {"bytes", description.bytes},
          {"fragments", description.fragments},
          {"holders", Numbers(description.holders)},
          {"needers", Numbers(description.needers)},
          {"tensors", std::move(tensors)},
          {"columns", std::move(columns)}};
}

JsonValue::Object DifferenceFields(const std::vector<PlanDifference>& differences) {
  JsonValue::Array list;
  for (const PlanDifference& difference : differences) {
    list.emplace_back(JsonValue::Object{
        {"what", difference.what}, {"left", difference.left}, {"right", difference.right}});
  }
  return {{"equal", differences.empty()}, {"differences", std::move(list)}};
}

}  // namespace reshard
