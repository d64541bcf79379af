#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "schedules/verification.h"

namespace reshard::verification {
namespace {

// That every item holds, chunk by chunk, the bytes its column names follows by induction over
// rounds: what is packed from parameters does; a transfer keeps item, column and chunk; what is
// packed from an item of the same column does if that item does. No item can be its own origin,
// since forwarding takes a round: transfers out of receive slots have a lag, and VerifyStaging()
// sees that packing out of them waits for the arrival, which a legal wait can only do from a later
// round.
class FlowChecker {
 public:
  explicit FlowChecker(const Plan& plan) : plan_(plan) {
    for (const RankSchedule& schedule : plan.schedules) {
      first_slot_.push_back(first_item_.size());
      for (const Slot& slot : schedule.slots) {
        first_item_.push_back(item_count_);
        item_count_ += slot.items.size();
      }
    }
  }

  Result<void> CheckTransfers();
  Result<void> CheckItems(RankIndex rank);
  Result<void> CheckMoves(RankIndex rank) const;

 private:
  const RankSchedule& ScheduleOf(RankIndex rank) const {
    return plan_.schedules[static_cast<std::size_t>(rank)];
  }
  const SlotItem& ItemOf(RankIndex rank, SlotIndex slot, std::int32_t item) const {
    return ScheduleOf(rank)
        .slots[static_cast<std::size_t>(slot)]
        .items[static_cast<std::size_t>(item)];
  }
  std::size_t NumberOf(RankIndex rank, SlotIndex slot, std::int32_t item) const {
    const std::size_t slot_number =
        first_slot_[static_cast<std::size_t>(rank)] + static_cast<std::size_t>(slot);
    return first_item_[slot_number] + static_cast<std::size_t>(item);
  }
  const DemandClass& ClassOf(ColumnIndex column) const {
    return plan_.demand.classes[static_cast<std::size_t>(
        plan_.columns[static_cast<std::size_t>(column)].demand_class)];
  }
  bool Holds(RankIndex rank, ColumnIndex column) const {
    const auto holders = plan_.demand.Holders(ClassOf(column));
    return std::binary_search(holders.begin(), holders.end(), rank);
  }
  bool Needs(RankIndex rank, ColumnIndex column) const {
    const auto needers = plan_.demand.Needers(ClassOf(column));
    return std::binary_search(needers.begin(), needers.end(), rank);
  }
  std::string PackFault(RankIndex rank, const SlotItem& item) const;

  const Plan& plan_;
  std::vector<std::size_t> first_slot_;  // of each rank, in first_item_
  std::vector<std::size_t> first_item_;  // of each slot
  std::size_t item_count_ = 0;
  std::vector<bool> arrives_;  // for each item
};

Result<void> FlowChecker::CheckTransfers() {
  arrives_.assign(item_count_, false);
  for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
    const Transfer& transfer = plan_.transfers[i];
    for (std::int32_t k = 0; k < transfer.source.item_count; ++k) {
      const std::int32_t to_item = transfer.destination.first_item + k;
      const SlotItem& sent =
          ItemOf(transfer.from, transfer.source.slot, transfer.source.first_item + k);
      const SlotItem& received = ItemOf(transfer.to, transfer.destination.slot, to_item);
      const auto place = [&] {
        return fmt::format("transfer {} from rank {} to rank {}, item {}", i, transfer.from,
                           transfer.to, k);
      };
      if (sent.column != received.column) {
        return Broken(
            1, place(),
            fmt::format("column {} is sent and column {} received", sent.column, received.column));
      }
      if (std::int64_t{received.first_round} != std::int64_t{sent.first_round} + transfer.lag) {
        return Broken(
            1, place(),
            fmt::format("column {} is sent from round {} with lag {} and received from {}",
                        sent.column, sent.first_round, transfer.lag, received.first_round));
      }
      const std::size_t number = NumberOf(transfer.to, transfer.destination.slot, to_item);
      if (arrives_[number]) {
        return Broken(1, place(),
                      fmt::format("item {} of slot {} of rank {} is received twice", to_item,
                                  transfer.destination.slot, transfer.to));
      }
      arrives_[number] = true;
    }
  }
  return {};
}

std::string FlowChecker::PackFault(RankIndex rank, const SlotItem& item) const {
  if (item.origin_slot == kFromParameters) {
    if (Holds(rank, item.column)) return "";
    return fmt::format("it is packed from parameters, but the rank does not hold class {}",
                       plan_.columns[static_cast<std::size_t>(item.column)].demand_class);
  }
  if (ScheduleOf(rank).slots[static_cast<std::size_t>(item.origin_slot)].kind !=
      SlotKind::kReceive) {
    return fmt::format("it is packed from slot {}, in which nothing is received", item.origin_slot);
  }
  const SlotItem& origin = ItemOf(rank, item.origin_slot, item.origin_item);
  if (origin.column == item.column) return "";
  return fmt::format("it is of column {}, but packed from column {}", item.column, origin.column);
}

Result<void> FlowChecker::CheckItems(RankIndex rank) {
  const std::vector<Slot>& slots = ScheduleOf(rank).slots;
  for (std::size_t s = 0; s < slots.size(); ++s) {
    for (std::size_t i = 0; i < slots[s].items.size(); ++i) {
      const SlotItem& item = slots[s].items[i];
      const auto place = [&] { return fmt::format("rank {}, slot {}, item {}", rank, s, i); };
      if (slots[s].kind == SlotKind::kPack) {
        const std::string fault = PackFault(rank, item);
        if (!fault.empty()) return Broken(1, place(), fault);
        continue;
      }
      if (!arrives_[NumberOf(rank, static_cast<SlotIndex>(s), static_cast<std::int32_t>(i))]) {
        return Broken(2, place(), "no transfer brings it");
      }
      if (item.unpack && !Needs(rank, item.column)) {
        return Broken(
            1, place(),
            fmt::format("it is unpacked, but the rank does not need class {}",
                        plan_.columns[static_cast<std::size_t>(item.column)].demand_class));
      }
    }
  }
  return {};
}

Result<void> FlowChecker::CheckMoves(RankIndex rank) const {
  const std::vector<LocalMove>& moves = ScheduleOf(rank).local_moves;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    if (Holds(rank, moves[i].column) && Needs(rank, moves[i].column)) continue;
    return Broken(
        1, fmt::format("rank {}, local move {}", rank, i),
        fmt::format("the rank does not hold and need class {}",
                    plan_.columns[static_cast<std::size_t>(moves[i].column)].demand_class));
  }
  return {};
}

// A part of a class that a rank has written, or has in place.
struct Piece {
  ClassIndex demand_class = 0;
  ByteRange bytes;
  auto Key() const { return std::tuple(demand_class, bytes.begin, bytes.end); }
};

std::vector<Piece> PiecesWritten(const Plan& plan, const RankSchedule& schedule) {
  std::vector<Piece> pieces;
  const auto add = [&](ColumnIndex index) {
    const Column& column = plan.columns[static_cast<std::size_t>(index)];
    pieces.push_back({column.demand_class, {column.begin, column.end}});
  };
  for (const Slot& slot : schedule.slots) {
    for (const SlotItem& item : slot.items) {
      if (item.unpack) add(item.column);
    }
  }
  for (const LocalMove& move : schedule.local_moves) add(move.column);
  return pieces;
}

// Whether the pieces are each byte of the class once.
Result<void> CheckCover(RankIndex rank, ClassIndex demand_class, std::int64_t bytes,
                        std::span<const Piece> pieces) {
  const std::string place = fmt::format("rank {}, class {}", rank, demand_class);
  std::int64_t next = 0;
  for (const Piece& piece : pieces) {
    if (piece.bytes.begin < next) {
      return Broken(1, place,
                    fmt::format("bytes [{}, {}) are written twice", piece.bytes.begin,
                                std::min(next, piece.bytes.end)));
    }
    if (piece.bytes.begin > next) {
      return Broken(1, place,
                    fmt::format("bytes [{}, {}) are never written", next, piece.bytes.begin));
    }
    next = piece.bytes.end;
  }
  if (next == bytes) return {};
  return Broken(1, place, fmt::format("bytes [{}, {}) are never written", next, bytes));
}

Result<void> CheckCovers(const Plan& plan, RankIndex rank, std::span<const ClassIndex> needed) {
  const Rank& record = plan.job.ranks[static_cast<std::size_t>(rank)];
  std::vector<Piece> pieces = PiecesWritten(plan, plan.schedules[static_cast<std::size_t>(rank)]);
  const SharedParameters shared = FindSharedParameters(plan.job, record);
  if (!shared.empty()) {
    for (const ClassIndex demand_class : needed) {
      for (const ByteRange& bytes : BytesInPlace(
               plan.demand, FindPrograms(plan.programs, record.source_layout, demand_class),
               FindPrograms(plan.programs, record.destination_layout, demand_class), shared)) {
        pieces.push_back({demand_class, bytes});
      }
    }
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.Key() < b.Key(); });
  std::size_t at = 0;
  for (const ClassIndex demand_class : needed) {
    const std::size_t begin = at;
    while (at < pieces.size() && pieces[at].demand_class == demand_class) ++at;
    const std::int64_t bytes = plan.demand.classes[static_cast<std::size_t>(demand_class)].bytes;
    const auto done =
        CheckCover(rank, demand_class, bytes, std::span(pieces).subspan(begin, at - begin));
    if (!done) return done;
  }
  return {};
}

// Zeros are written in one step as a whole; their program has each of them once.
Result<void> CheckZeroRound(const Plan& plan, RankIndex rank) {
  const LayoutIndex layout = plan.job.ranks[static_cast<std::size_t>(rank)].destination_layout;
  const bool declares =
      layout != kNoLayout && !plan.job.layouts[static_cast<std::size_t>(layout)].zeros.empty();
  const bool writes = plan.schedules[static_cast<std::size_t>(rank)].zero_round != kNoZeros;
  if (declares == writes) return {};
  return Broken(1, fmt::format("rank {}", rank),
                declares ? "the zeros that its destination layout declares are never written"
                         : "it writes zeros, but its destination layout declares none");
}

}  // namespace

Result<void> VerifyFlow(const Plan& plan) {
  FlowChecker checker(plan);
  const auto count = static_cast<RankIndex>(plan.job.ranks.size());
  Result<void> done = checker.CheckTransfers();
  for (RankIndex rank = 0; done && rank < count; ++rank) {
    done = checker.CheckItems(rank);
    if (done) done = checker.CheckMoves(rank);
    if (done) done = CheckZeroRound(plan, rank);
  }
  if (!done) return done;
  std::vector<std::vector<ClassIndex>> needed(plan.job.ranks.size());
  for (std::size_t c = 0; c < plan.demand.classes.size(); ++c) {
    for (const RankIndex rank : plan.demand.Needers(plan.demand.classes[c])) {
      needed[static_cast<std::size_t>(rank)].push_back(static_cast<ClassIndex>(c));
    }
  }
  for (RankIndex rank = 0; done && rank < count; ++rank) {
    done = CheckCovers(plan, rank, needed[static_cast<std::size_t>(rank)]);
  }
  return done;
}

}  // namespace reshard::verification
