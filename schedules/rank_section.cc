#include "schedules/plan_sections.h"

namespace reshard::codec {
namespace {

void AddSlots(const std::vector<Slot>& slots, format::RankSection& message) {
  DeltaWriter column(message.mutable_item_column_delta());
  DeltaWriter first_round(message.mutable_item_first_round_delta());
  DeltaWriter origin_item(message.mutable_item_origin_item_delta());
  for (const Slot& slot : slots) {
    message.add_slot_kind(static_cast<std::uint32_t>(slot.kind));
    message.add_slot_offset(slot.offset);
    message.add_slot_capacity(slot.capacity);
    message.add_slot_depth(slot.depth);
    message.add_slot_items(static_cast<std::uint32_t>(slot.items.size()));
    for (const SlotItem& item : slot.items) {
      column.Add(item.column);
      first_round.Add(item.first_round);
      message.add_item_origin_slot(item.origin_slot);
      origin_item.Add(item.origin_item);
      message.add_item_unpack(item.unpack);
    }
  }
}

void AddMovesAndWaits(const RankSchedule& schedule, format::RankSection& message) {
  DeltaWriter column(message.mutable_move_column_delta());
  DeltaWriter first_round(message.mutable_move_first_round_delta());
  for (const LocalMove& move : schedule.local_moves) {
    column.Add(move.column);
    first_round.Add(move.first_round);
  }
  for (const Wait& wait : schedule.waits) {
    message.add_wait_lane(static_cast<std::uint32_t>(wait.lane));
    message.add_wait_on(static_cast<std::uint32_t>(wait.on));
    message.add_wait_lag(wait.lag);
  }
  message.set_zero_round(static_cast<std::uint32_t>(schedule.zero_round - kNoZeros));
}

void AddTransfers(const RankPart& part, format::RankSection& message) {
  DeltaWriter send_peer(message.mutable_send_peer_delta());
  RunWriter sends(message.mutable_sends());
  for (const RankTransfer& send : part.sends) {
    send_peer.Add(send.peer);
    message.add_send_lag(send.lag);
    sends.Add(send.run);
  }
  DeltaWriter receive_peer(message.mutable_receive_peer_delta());
  RunWriter receives(message.mutable_receives());
  for (const RankTransfer& receive : part.receives) {
    receive_peer.Add(receive.peer);
    receives.Add(receive.run);
  }
}

// Remembers whether all numbers it was given fit 32 bits.
class Narrow {
 public:
  std::int32_t operator()(std::int64_t value) {
    ok_ = ok_ && std::in_range<std::int32_t>(value);
    return static_cast<std::int32_t>(value);
  }
  bool ok() const { return ok_; }

 private:
  bool ok_ = true;
};

bool SizesAgree(const format::RankSection& message) {
  std::int64_t items = 0;
  for (const std::uint32_t count : message.slot_items()) items += count;
  const int sends = message.send_lag_size();
  const int receives = message.receive_peer_delta_size();
  return AllOfSize(message.slot_kind_size(), message.slot_offset(), message.slot_capacity(),
                   message.slot_depth(), message.slot_items()) &&
         AllOfSize(items, message.item_column_delta(), message.item_first_round_delta(),
                   message.item_origin_slot(), message.item_origin_item_delta(),
                   message.item_unpack()) &&
         AllOfSize(message.move_column_delta_size(), message.move_first_round_delta()) &&
         AllOfSize(message.wait_lag_size(), message.wait_lane(), message.wait_on()) &&
         AllOfSize(sends, message.send_peer_delta()) &&
         RunReader::IsOfSize(sends, message.sends()) &&
         RunReader::IsOfSize(receives, message.receives()) &&
         AllOfSize(message.in_place_source_delta_size(), message.in_place_destination_delta()) &&
         AllOfSize(message.column_delta_size(), message.columns().size());
}

Result<void> ReadSlots(const format::RankSection& message, const SectionContext& context,
                       RankPart& part) {
  Narrow narrow;
  DeltaReader column(message.item_column_delta());
  DeltaReader first_round(message.item_first_round_delta());
  DeltaReader origin_item(message.item_origin_item_delta());
  const auto columns = static_cast<ColumnIndex>(part.columns.size());
  int row = 0;
  for (int i = 0; i < message.slot_kind_size(); ++i) {
    if (message.slot_kind(i) > static_cast<std::uint32_t>(SlotKind::kReceive)) {
      return context.Malformed("an unknown kind of slot");
    }
    Slot slot{static_cast<SlotKind>(message.slot_kind(i)),
              message.slot_offset(i),
              message.slot_capacity(i),
              narrow(message.slot_depth(i)),
              {}};
    slot.items.reserve(message.slot_items(i));
    for (std::uint32_t k = 0; k < message.slot_items(i); ++k, ++row) {
      const SlotItem item{column.Next<ColumnIndex>(), first_round.Next<RoundIndex>(),
                          narrow(message.item_origin_slot(row)), origin_item.Next<std::int32_t>(),
                          message.item_unpack(row)};
      if (item.column < 0 || item.column >= columns) {
        return context.Malformed("a column that it lacks");
      }
      slot.items.push_back(item);
    }
    part.schedule.slots.push_back(std::move(slot));
  }
  if (!narrow.ok() || !column.ok() || !first_round.ok() || !origin_item.ok()) {
    return context.Malformed("a number out of range");
  }
  return {};
}

Result<void> ReadMovesAndWaits(const format::RankSection& message, const SectionContext& context,
                               RankPart& part) {
  Narrow narrow;
  DeltaReader column(message.move_column_delta());
  DeltaReader first_round(message.move_first_round_delta());
  for (int i = 0; i < message.move_column_delta_size(); ++i) {
    const LocalMove move{column.Next<ColumnIndex>(), first_round.Next<RoundIndex>()};
    if (move.column < 0 || move.column >= static_cast<ColumnIndex>(part.columns.size())) {
      return context.Malformed("a column that it lacks");
    }
    part.schedule.local_moves.push_back(move);
  }
  for (int i = 0; i < message.wait_lag_size(); ++i) {
    if (message.wait_lane(i) >= kLaneCount || message.wait_on(i) >= kLaneCount) {
      return context.Malformed("an unknown lane");
    }
    part.schedule.waits.push_back({static_cast<Lane>(message.wait_lane(i)),
                                   static_cast<Lane>(message.wait_on(i)),
                                   narrow(message.wait_lag(i))});
  }
  part.schedule.zero_round = narrow(std::int64_t{message.zero_round()} + kNoZeros);
  if (!narrow.ok() || !column.ok() || !first_round.ok()) {
    return context.Malformed("a number out of range");
  }
  return {};
}

Result<void> ReadTransfers(const format::RankSection& message, const SectionContext& context,
                           RankPart& part) {
  Narrow narrow;
  DeltaReader send_peer(message.send_peer_delta());
  RunReader sends(message.sends());
  for (int i = 0; i < message.send_lag_size(); ++i) {
    part.sends.push_back({send_peer.Next<RankIndex>(), narrow(message.send_lag(i)), sends.Next()});
  }
  DeltaReader receive_peer(message.receive_peer_delta());
  RunReader receives(message.receives());
  for (int i = 0; i < message.receive_peer_delta_size(); ++i) {
    part.receives.push_back({receive_peer.Next<RankIndex>(), 0, receives.Next()});
  }
  if (!narrow.ok() || !send_peer.ok() || !sends.ok() || !receive_peer.ok() || !receives.ok()) {
    return context.Malformed("a number out of range");
  }
  return {};
}

Result<void> ReadColumnNumbers(const format::RankSection& message, const SectionContext& context,
                               RankSectionContent& content) {
  DeltaReader number(message.column_delta());
  for (int i = 0; i < message.column_delta_size(); ++i) {
    content.columns.push_back(number.Next<ColumnIndex>());
  }
  DeltaReader source(message.in_place_source_delta());
  DeltaReader destination(message.in_place_destination_delta());
  for (int i = 0; i < message.in_place_source_delta_size(); ++i) {
    content.in_place.emplace_back(source.Next<ParameterIndex>(),
                                  destination.Next<ParameterIndex>());
  }
  if (!number.ok() || !source.ok() || !destination.ok()) {
    return context.Malformed("a number out of range");
  }
  return {};
}

}  // namespace

std::string EncodeRankSection(const RankSectionContent& content) {
  const RankPart& part = content.part;
  format::RankSection message;
  message.set_job_digest(part.job_digest);
  message.set_rank_count(static_cast<std::uint32_t>(part.rank_count));
  message.set_round_count(part.round_count);
  AddRanks(std::span(&part.record, 1), *message.mutable_record());
  DeltaWriter source(message.mutable_in_place_source_delta());
  DeltaWriter destination(message.mutable_in_place_destination_delta());
  for (const auto& [source_parameter, destination_parameter] : content.in_place) {
    source.Add(source_parameter);
    destination.Add(destination_parameter);
  }
  AddProfiles(part.profiles, *message.mutable_profiles());
  AddColumns(part.columns, *message.mutable_columns());
  DeltaWriter number(message.mutable_column_delta());
  for (const ColumnIndex column : content.columns) number.Add(column);
  AddSlots(part.schedule.slots, message);
  AddMovesAndWaits(part.schedule, message);
  AddTransfers(part, message);
  return Serialize(message);
}

Result<RankSectionContent> DecodeRankSection(std::string_view bytes, const SectionContext& context,
                                             RankIndex rank) {
  const auto message = Parse<format::RankSection>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  if (!SizesAgree(*message)) return context.Malformed("columns differ in length");
  if (!std::in_range<RankIndex>(message->rank_count())) {
    return context.Malformed("a number out of range");
  }
  RankSectionContent content;
  RankPart& part = content.part;
  part.rank = rank;
  part.job_digest = message->job_digest();
  part.rank_count = static_cast<RankIndex>(message->rank_count());
  part.round_count = message->round_count();
  std::vector<Rank> record;
  Result<void> done = ReadRanks(message->record(), context, record);
  if (!done) return tl::unexpected(done.error());
  if (record.size() != 1) return context.Malformed("it has not one rank");
  part.record = record[0];
  done = ReadProfiles(message->profiles(), context, part.profiles);
  if (done) done = ReadColumns(message->columns(), context, part.columns);
  if (!done) return tl::unexpected(done.error());
  for (const Column& column : part.columns) {
    if (column.profile < 0 || column.profile >= static_cast<ProfileIndex>(part.profiles.size())) {
      return context.Malformed("a profile that it lacks");
    }
  }
  done = ReadColumnNumbers(*message, context, content);
  if (done) done = ReadSlots(*message, context, part);
  if (done) done = ReadMovesAndWaits(*message, context, part);
  if (done) done = ReadTransfers(*message, context, part);
  if (!done) return tl::unexpected(done.error());
  return content;
}

}  // namespace reshard::codec
