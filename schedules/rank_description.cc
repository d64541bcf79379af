#include <algorithm>
#include <cstddef>
#include <map>

#include "schedules/carried_bytes.h"
#include "schedules/description.h"
#include "schedules/rank_part.h"

namespace reshard {
namespace {

SideDescription DescribeSide(const Plan& plan, std::int32_t group, LayoutIndex layout) {
  SideDescription side;
  if (layout == kNoLayout) return side;
  const RankLayout& held = plan.job.layouts[static_cast<std::size_t>(layout)];
  side.group = group;
  side.layout = layout;
  const std::vector<bool> computed = ComputedParameters(held.conversions, held.parameters.size());
  side.computed_parameters = static_cast<std::int64_t>(held.conversions.size());
  side.parameters = static_cast<std::int64_t>(held.parameters.size()) - side.computed_parameters;
  for (std::size_t p = 0; p < held.parameters.size(); ++p) {
    if (computed[p]) continue;
    const Parameter& parameter = held.parameters[p];
    std::int64_t bytes = ElementBytes(parameter.dtype);
    for (const std::int64_t extent : parameter.shape) bytes *= extent;
    side.parameter_bytes += bytes;
  }
  side.regions = held.regions.size();
  return side;
}

// The union of two ranges of rounds; an empty one counts for nothing.
RoundRange Joined(const RoundRange& a, const RoundRange& b) {
  if (a.first == a.last) return b;
  if (b.first == b.last) return a;
  return {std::min(a.first, b.first), std::max(a.last, b.last)};
}

std::int64_t ColumnBytes(const Plan& plan, ColumnIndex index) {
  const Column& column = plan.columns[static_cast<std::size_t>(index)];
  return column.end - column.begin;
}

// Bytes that `rank` writes of a column: once for each place.
std::int64_t WrittenBytes(const Plan& plan, const Rank& rank, ColumnIndex index) {
  const auto places = FindPrograms(plan.programs, rank.destination_layout,
                                   plan.columns[static_cast<std::size_t>(index)].demand_class);
  return ColumnBytes(plan, index) * static_cast<std::int64_t>(places.size());
}

void DescribeSlots(const Plan& plan, const RankSchedule& schedule, RankDescription& description) {
  for (const Slot& slot : schedule.slots) {
    SlotDescription one{slot.kind,
                        slot.offset,
                        slot.capacity,
                        slot.depth,
                        static_cast<std::int64_t>(slot.items.size()),
                        {}};
    for (const SlotItem& item : slot.items) {
      one.rounds = Joined(one.rounds, ActiveRounds(item, plan.columns, plan.profiles));
      const std::int64_t bytes = ColumnBytes(plan, item.column);
      if (slot.kind == SlotKind::kPack && item.origin_slot == kFromParameters) {
        description.packed_bytes += bytes;
      }
      if (item.unpack) {
        description.unpacked_bytes += WrittenBytes(plan, description.record, item.column);
      }
    }
    description.slots.push_back(one);
  }
  for (const LocalMove& move : schedule.local_moves) {
    description.moved_bytes += WrittenBytes(plan, description.record, move.column);
  }
  if (schedule.zero_round == kNoZeros) return;
  for (const CopyProgram& program :
       FindPrograms(plan.programs, description.record.destination_layout, kZeroClass)) {
    description.zeroed_bytes += program.bytes();
  }
}

void DescribePeers(const Plan& plan, RankDescription& description) {
  std::map<RankIndex, PeerDescription> peers;
  for (const Transfer& transfer : plan.transfers) {
    const bool is_sender = transfer.from == description.rank;
    if (!is_sender && transfer.to != description.rank) continue;
    const RankIndex other = is_sender ? transfer.to : transfer.from;
    PeerDescription& peer = peers[other];
    peer.peer = other;
    peer.is_same_domain =
        plan.job.ranks[static_cast<std::size_t>(other)].domain == description.record.domain;
    ++(is_sender ? peer.sends : peer.receives);
    const Slot& slot = plan.schedules[static_cast<std::size_t>(transfer.to)]
                           .slots[static_cast<std::size_t>(transfer.destination.slot)];
    for (std::int32_t k = 0; k < transfer.destination.item_count; ++k) {
      const SlotItem& item =
          slot.items[static_cast<std::size_t>(transfer.destination.first_item + k)];
      (is_sender ? peer.sent_bytes : peer.received_bytes) += ColumnBytes(plan, item.column);
      peer.rounds = Joined(peer.rounds, ActiveRounds(item, plan.columns, plan.profiles));
    }
  }
  for (const auto& [index, peer] : peers) description.peers.push_back(peer);
}

// Of a simulation-only plan: its flows have no rounds, its copies no slots.
void DescribeTraffic(const Plan& plan, RankDescription& description) {
  description.staging_bytes =
      plan.traffic->staging_bytes[static_cast<std::size_t>(description.rank)];
  std::map<RankIndex, PeerDescription> peers;
  for (const CarriedBytes& carried : ListCarriedBytes(plan)) {
    const bool is_sender = carried.from == description.rank;
    if (!is_sender && carried.to != description.rank) continue;
    const RankIndex other = is_sender ? carried.to : carried.from;
    PeerDescription& peer = peers[other];
    peer.peer = other;
    peer.is_same_domain =
        plan.job.ranks[static_cast<std::size_t>(other)].domain == description.record.domain;
    (is_sender ? peer.sends : peer.receives) += carried.operations;
    (is_sender ? peer.sent_bytes : peer.received_bytes) += carried.bytes;
  }
  for (const auto& [index, peer] : peers) description.peers.push_back(peer);
  for (const TrafficStream& stream : plan.traffic->streams) {
    for (const TrafficPhase& phase : stream.phases) {
      for (const TrafficCopy& copy : phase.copies) {
        if (copy.rank != description.rank) continue;
        description.packed_bytes += copy.packed_bytes * phase.repeats;
        description.unpacked_bytes += copy.unpacked_bytes * phase.repeats;
      }
    }
  }
}

}  // namespace

RankDescription DescribeRank(const Plan& plan, RankIndex rank) {
  const auto index = static_cast<std::size_t>(rank);
  const RankSchedule& schedule = plan.schedules[index];
  RankDescription description;
  description.rank = rank;
  description.record = plan.job.ranks[index];
  const Rank& record = description.record;
  description.source = DescribeSide(plan, record.source_group, record.source_layout);
  description.destination = DescribeSide(plan, record.destination_group, record.destination_layout);
  description.staging_bytes = StagingBytes(schedule);
  DescribeSlots(plan, schedule, description);
  DescribePeers(plan, description);
  description.waits = schedule.waits;
  if (plan.traffic) DescribeTraffic(plan, description);
  return description;
}

}  // namespace reshard
