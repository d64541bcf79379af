#include "runtime/part_references.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// Nothing a real job does comes near; beyond it a part is damaged.
constexpr RoundIndex kRoundsMax = 1 << 24;

template <typename Index, typename Value>
bool IsIndexOf(Index index, const std::vector<Value>& values) {
  return index >= 0 && static_cast<std::size_t>(index) < values.size();
}

bool IsColumnFine(const RankPart& part, const Column& column) {
  if (!IsIndexOf(column.profile, part.profiles) || column.begin < 0 || column.end < column.begin) {
    return false;
  }
  // Weights beyond a whole would leave the last chunk less than nothing.
  const std::vector<std::uint32_t>& weights =
      part.profiles[static_cast<std::size_t>(column.profile)].weights;
  return !weights.empty() && std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}) <=
                                 (std::uint64_t{1} << 32U);
}

// What is wrong with `slot`, or nullptr.
const char* FaultOf(const RankPart& part, const Slot& slot) {
  const std::optional<std::int64_t> instances = CheckedMultiply(slot.capacity, slot.depth);
  const std::optional<std::int64_t> end =
      instances ? CheckedAdd(*instances, slot.offset) : std::nullopt;
  if (slot.depth < 1 || slot.offset < 0 || slot.capacity < 0 || !end || *end > part.staging_bytes) {
    return "a slot outside of its staging";
  }
  for (const SlotItem& item : slot.items) {
    if (!IsIndexOf(item.column, part.columns)) return "an item of a column it does not have";
    if (item.first_round < 0 || item.first_round > part.round_count) {
      return "an item that starts outside of the plan's rounds";
    }
    if (slot.kind != SlotKind::kPack || item.origin_slot == kFromParameters) continue;
    if (!IsIndexOf(item.origin_slot, part.schedule.slots)) {
      return "an item with an origin slot that does not exist";
    }
    const Slot& origin = part.schedule.slots[static_cast<std::size_t>(item.origin_slot)];
    if (!IsIndexOf(item.origin_item, origin.items) ||
        origin.items[static_cast<std::size_t>(item.origin_item)].column != item.column) {
      return "an item whose origin is of another column";
    }
  }
  return nullptr;
}

const char* FaultOf(const RankPart& part, const RankTransfer& transfer) {
  const SlotRun& run = transfer.run;
  if (!IsIndexOf(run.slot, part.schedule.slots)) return "a transfer of a slot it does not have";
  const auto items = static_cast<std::int64_t>(
      part.schedule.slots[static_cast<std::size_t>(run.slot)].items.size());
  if (run.first_item < 0 || run.item_count < 0 ||
      std::int64_t{run.first_item} + run.item_count > items) {
    return "a transfer of items it does not have";
  }
  if (transfer.lag < 0) return "a transfer of a later round";
  if (transfer.peer < 0 || transfer.peer >= part.rank_count || transfer.peer == part.rank) {
    return "a transfer with a rank that is no peer";
  }
  return nullptr;
}

bool IsLane(Lane lane) { return static_cast<int>(lane) < kLaneCount; }

// The first fault found, or nullptr.
const char* FaultOf(const RankPart& part) {
  if (part.round_count < 0 || part.round_count > kRoundsMax) return "an absurd number of rounds";
  if (part.rank < 0 || part.rank >= part.rank_count) return "a rank that is none of its ranks";
  if (part.staging_bytes < 0) return "negative staging";
  for (const Conversion& conversion : part.source_conversions) {
    if (!IsIndexOf(conversion.parameter, part.source_parameters)) {
      return "a conversion to a parameter it does not have";
    }
  }
  for (const Column& column : part.columns) {
    if (!IsColumnFine(part, column)) return "a column that is no range of a class";
  }
  for (const Slot& slot : part.schedule.slots) {
    if (const char* fault = FaultOf(part, slot)) return fault;
  }
  for (const LocalMove& move : part.schedule.local_moves) {
    if (!IsIndexOf(move.column, part.columns)) return "a local move of a column it does not have";
    if (move.first_round < 0) return "a local move before round 0";
  }
  for (const Wait& wait : part.schedule.waits) {
    if (!IsLane(wait.lane) || !IsLane(wait.on) || wait.lag < 0) return "a wait on no earlier step";
  }
  for (const auto* transfers : {&part.sends, &part.receives}) {
    for (const RankTransfer& transfer : *transfers) {
      if (const char* fault = FaultOf(part, transfer)) return fault;
    }
  }
  return nullptr;
}

}  // namespace

Result<void> CheckReferences(const RankPart& part) {
  if (const char* fault = FaultOf(part)) {
    return InputError("rank " + std::to_string(part.rank),
                      std::string("its part of the plan has ") + fault, "verify the plan");
  }
  return {};
}

}  // namespace reshard
