#include "runtime/lowering.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "foundation/checked_arithmetic.h"
#include "runtime/conversion_lowering.h"
#include "runtime/part_references.h"
#include "runtime/stream_window.h"
#include "schedules/dtype.h"

namespace reshard {
namespace {

class Lowering {
 public:
  explicit Lowering(const RankPart& part)
      : part_(part),
        place_("rank " + std::to_string(part.rank)),
        first_source_base_(kStagingBase + 1),
        first_destination_base_(first_source_base_ +
                                static_cast<BaseIndex>(part.source_parameters.size())) {}

  Result<LoweredRank> Run() {
    Result<void> done = CheckReferences(part_);
    if (done) done = MeasureBases();
    if (done) done = MakeStreams();
    if (!done) return tl::unexpected(done.error());
    lowered_.rank = part_.rank;
    lowered_.rank_count = part_.rank_count;
    lowered_.waits = part_.schedule.waits;
    lowered_.rounds.resize(static_cast<std::size_t>(part_.round_count));
    for (const Column& column : part_.columns) {
      chunk_starts_.push_back(
          ChunkStarts(column, part_.profiles[static_cast<std::size_t>(column.profile)]));
    }
    for (const Slot& slot : part_.schedule.slots) {
      done = slot.kind == SlotKind::kPack ? LowerPackSlot(slot) : LowerReceiveSlot(slot);
      if (!done) return tl::unexpected(done.error());
    }
    for (const LocalMove& move : part_.schedule.local_moves) {
      done = LowerLocalMove(move);
      if (!done) return tl::unexpected(done.error());
    }
    done = LowerZeros();
    if (!done) return tl::unexpected(done.error());
    LowerTransfers();
    done = SeparateConversions();
    if (done) done = CheckTables();
    if (!done) return tl::unexpected(done.error());
    return std::move(lowered_);
  }

 private:
  tl::unexpected<Error> Broken(const std::string& what) const {
    return InputError(place_, "its part of the plan has " + what, "verify the plan");
  }

  tl::unexpected<Error> BrokenRound(std::size_t round, const Error& error) const {
    return Broken("a round " + std::to_string(round) + " in which " + error.place + " " +
                  error.reason);
  }

  Result<void> MeasureBases() {
    if (part_.staging_bytes < 0) return Broken("negative staging");
    lowered_.base_bytes.push_back(part_.staging_bytes);
    for (const auto* parameters : {&part_.source_parameters, &part_.destination_parameters}) {
      for (const Parameter& parameter : *parameters) {
        const std::optional<std::int64_t> elements = CheckedProduct(parameter.shape);
        const std::optional<std::int64_t> bytes =
            elements ? CheckedMultiply(*elements, ElementBytes(parameter.dtype)) : std::nullopt;
        if (!bytes || *bytes < 0) return Broken("parameter " + parameter.name + " of no real size");
        lowered_.base_bytes.push_back(*bytes);
      }
    }
    return {};
  }

  Result<void> MakeStreams() {
    const auto make = [](const std::vector<CopyProgram>& programs, std::size_t parameters,
                         std::vector<ProgramStream>& streams) -> Result<void> {
      for (const CopyProgram& program : programs) {
        Result<ProgramStream> stream =
            ProgramStream::Make(program, static_cast<std::int64_t>(parameters));
        if (!stream) return tl::unexpected(stream.error());
        streams.push_back(*std::move(stream));
      }
      return {};
    };
    Result<void> made = make(part_.source_programs, part_.source_parameters.size(), sources_);
    if (!made) return made;
    return make(part_.destination_programs, part_.destination_parameters.size(), destinations_);
  }

  // The streams of a class among `streams` (ascending by class): one for each place.
  static std::span<const ProgramStream> StreamsOf(const std::vector<ProgramStream>& streams,
                                                  ClassIndex demand_class) {
    const auto found =
        std::ranges::equal_range(streams, demand_class, {}, &ProgramStream::demand_class);
    return {found.begin(), found.end()};
  }
  // The same of `column`'s class; none if any of them does not reach the column.
  static std::span<const ProgramStream> StreamsOf(const std::vector<ProgramStream>& streams,
                                                  const Column& column) {
    const std::span<const ProgramStream> found = StreamsOf(streams, column.demand_class);
    const bool reach = std::ranges::all_of(
        found, [&column](const ProgramStream& stream) { return column.end <= stream.bytes(); });
    return reach ? found : std::span<const ProgramStream>();
  }

  const Column& ColumnAt(ColumnIndex column) const {
    return part_.columns[static_cast<std::size_t>(column)];
  }
  // The chunk of `item` that a slot's instance of `round` holds. As ChunkRange(), but in constant
  // time, since every round of every item asks.
  ByteRange ChunkOf(const SlotItem& item, RoundIndex round) const {
    const std::vector<std::int64_t>& starts = chunk_starts_[static_cast<std::size_t>(item.column)];
    const std::int64_t chunk = std::int64_t{round} - item.first_round;
    if (chunk < 0 || chunk + 1 >= static_cast<std::int64_t>(starts.size())) return {};
    return {starts[static_cast<std::size_t>(chunk)], starts[static_cast<std::size_t>(chunk) + 1]};
  }
  // Bytes of the items [first, last) of an instance.
  std::int64_t BytesOf(const Slot& slot, RoundIndex round, std::int32_t first,
                       std::int32_t last) const {
    std::int64_t bytes = 0;
    for (std::int32_t i = first; i < last; ++i) {
      bytes += AlignedBytes(ChunkOf(slot.items[static_cast<std::size_t>(i)], round).size());
    }
    return bytes;
  }
  LoweredRound& Round(RoundIndex round) { return lowered_.rounds[static_cast<std::size_t>(round)]; }
  static std::int64_t InstanceOffset(const Slot& slot, RoundIndex round) {
    return slot.offset + slot.capacity * (round % slot.depth);
  }

  // The rounds in which any item of `slot` carries a byte; fails if they leave the plan's.
  Result<RoundRange> ActiveRoundsOf(const Slot& slot) const {
    RoundRange all = {part_.round_count, 0};
    for (const SlotItem& item : slot.items) {
      const RoundRange active = ActiveRounds(item, part_.columns, part_.profiles);
      if (active.first >= active.last) continue;
      if (active.first < 0 || active.last > part_.round_count) {
        return Broken("an item that leaves the rounds of the plan");
      }
      all = {std::min(all.first, active.first), std::max(all.last, active.last)};
    }
    return all;
  }

  // Calls visit(round, item, offset in staging, bytes of the stream) for every item of every round
  // that carries a byte, rounds ascending. `visit` returns a Result<void>.
  template <typename Visit>
  Result<void> ForEachChunk(const Slot& slot, const Visit& visit) const {
    const Result<RoundRange> rounds = ActiveRoundsOf(slot);
    if (!rounds) return tl::unexpected(rounds.error());
    for (RoundIndex round = rounds->first; round < rounds->last; ++round) {
      std::int64_t offset = 0;  // in the instance
      for (const SlotItem& item : slot.items) {
        const ByteRange bytes = ChunkOf(item, round);
        if (bytes.size() == 0) continue;
        if (offset + bytes.size() > slot.capacity) {
          return Broken("a slot that is too small for round " + std::to_string(round));
        }
        if (Result<void> done = visit(round, item, InstanceOffset(slot, round) + offset, bytes);
            !done) {
          return done;
        }
        offset += AlignedBytes(bytes.size());
      }
    }
    return {};
  }

  Result<void> LowerPackSlot(const Slot& slot) {
    return ForEachChunk(slot,
                        [&](RoundIndex round, const SlotItem& item, std::int64_t offset,
                            ByteRange bytes) -> Result<void> {
                          CopyTable& table = Round(round).pack;
                          if (item.origin_slot != kFromParameters) {
                            return AddStagingCopy(item, round, offset, bytes.size(), table);
                          }
                          const auto places = StreamsOf(sources_, ColumnAt(item.column));
                          if (places.empty()) return Broken("an item of bytes it does not hold");
                          AddPack(places.front(), first_source_base_, bytes, kStagingBase, offset,
                                  table);
                          return {};
                        });
  }

  // A pack item that takes what the rank received earlier: the same chunk, from the origin's
  // instance of the round in which it held that chunk.
  Result<void> AddStagingCopy(const SlotItem& item, RoundIndex round, std::int64_t offset,
                              std::int64_t bytes, CopyTable& table) {
    const Slot& origin = part_.schedule.slots[static_cast<std::size_t>(item.origin_slot)];
    const SlotItem& origin_item = origin.items[static_cast<std::size_t>(item.origin_item)];
    const RoundIndex origin_round = origin_item.first_round + (round - item.first_round);
    if (origin_round < 0) return Broken("an item whose origin is before round 0");
    const std::int64_t origin_offset =
        InstanceOffset(origin, origin_round) + BytesOf(origin, origin_round, 0, item.origin_item);
    table.Add({kStagingBase, kStagingBase, origin_offset, offset, bytes, {}});
    return {};
  }

  Result<void> LowerReceiveSlot(const Slot& slot) {
    return ForEachChunk(slot,
                        [&](RoundIndex round, const SlotItem& item, std::int64_t offset,
                            ByteRange bytes) -> Result<void> {
                          if (!item.unpack) return {};
                          const auto places = StreamsOf(destinations_, ColumnAt(item.column));
                          if (places.empty()) {
                            return Broken("an item to unpack of bytes it does not need");
                          }
                          for (const ProgramStream& place : places) {
                            AddUnpack(place, first_destination_base_, bytes, kStagingBase, offset,
                                      Round(round).unpack);
                          }
                          return {};
                        });
  }

  Result<void> LowerLocalMove(const LocalMove& move) {
    const Column& column = ColumnAt(move.column);
    const auto sources = StreamsOf(sources_, column);
    const auto destinations = StreamsOf(destinations_, column);
    if (sources.empty() || destinations.empty()) {
      return Broken("a local move of bytes it does not hold and need");
    }
    const std::vector<std::int64_t>& starts = chunk_starts_[static_cast<std::size_t>(move.column)];
    for (std::size_t k = 0; k + 1 < starts.size(); ++k) {
      const ByteRange window = {starts[k], starts[k + 1]};
      if (window.size() == 0) continue;
      const std::int64_t round = move.first_round + static_cast<std::int64_t>(k);
      if (round < 0 || round >= part_.round_count) {
        return Broken("a local move that leaves the rounds of the plan");
      }
      for (const ProgramStream& place : destinations) {
        Result<void> added =
            AddMove(sources.front(), first_source_base_, place, first_destination_base_, window,
                    Round(static_cast<RoundIndex>(round)).unpack);
        if (!added) return added;
      }
    }
    return {};
  }

  Result<void> LowerZeros() {
    const RoundIndex round = part_.schedule.zero_round;
    if (round == kNoZeros) return {};
    const auto streams = StreamsOf(destinations_, kZeroClass);
    if (round < 0 || round >= part_.round_count || streams.size() != 1) {
      return Broken("zeros to write in a round it does not have, or without a program");
    }
    AddZeros(streams.front(), first_destination_base_, Round(round).unpack);
    return {};
  }

  void LowerTransfers() {
    for (const RankTransfer& send : part_.sends) {
      AddOperations(send, send.lag, [](LoweredRound& round) { return &round.sends; });
    }
    for (const RankTransfer& receive : part_.receives) {
      AddOperations(receive, 0, [](LoweredRound& round) { return &round.receives; });
    }
  }

  template <typename List>
  void AddOperations(const RankTransfer& transfer, std::int32_t lag, const List& list) {
    const Slot& slot = part_.schedule.slots[static_cast<std::size_t>(transfer.run.slot)];
    const std::int32_t first = transfer.run.first_item;
    for (RoundIndex round = lag; round < part_.round_count; ++round) {
      const RoundIndex held = round - lag;  // the round whose instance is sent
      const std::int64_t bytes = BytesOf(slot, held, first, first + transfer.run.item_count);
      if (bytes == 0) continue;
      const std::int64_t offset = InstanceOffset(slot, held) + BytesOf(slot, held, 0, first);
      list(Round(round))->push_back({transfer.peer, offset, bytes});
    }
  }

  Result<void> SeparateConversions() {
    if (part_.source_conversions.empty()) return {};
    Result<ConvertedBuffers> converted =
        LowerConversions(part_, first_source_base_, lowered_.base_bytes);
    if (!converted) return tl::unexpected(converted.error());
    lowered_.converted = *std::move(converted);
    for (LoweredRound& round : lowered_.rounds) {
      SplitConversions(part_.source_conversions, first_source_base_, round.pack,
                       round.converted_pack);
      SplitConversions(part_.source_conversions, first_source_base_, round.unpack,
                       round.converted_unpack);
    }
    for (const Conversion& conversion : part_.source_conversions) {
      lowered_.base_bytes[static_cast<std::size_t>(first_source_base_ + conversion.parameter)] = 0;
    }
    return {};
  }

  Result<void> CheckTables() const {
    for (std::size_t r = 0; r < lowered_.rounds.size(); ++r) {
      const LoweredRound& round = lowered_.rounds[r];
      for (const CopyTable* table : {&round.pack, &round.unpack}) {
        if (const Result<void> inside = CheckBounds(*table, lowered_.base_bytes); !inside) {
          return BrokenRound(r, inside.error());
        }
      }
      for (const CopyTable* table : {&round.converted_pack, &round.converted_unpack}) {
        const Result<void> inside =
            CheckConversions(*table, lowered_.converted, lowered_.base_bytes);
        if (!inside) return BrokenRound(r, inside.error());
      }
      for (const auto* operations : {&round.sends, &round.receives}) {
        for (const ExchangeOperation& operation : *operations) {
          if (operation.offset + operation.bytes > part_.staging_bytes) {
            return Broken("an operation outside of its staging in round " + std::to_string(r));
          }
        }
      }
    }
    return {};
  }

  const RankPart& part_;
  std::string place_;
  BaseIndex first_source_base_;
  BaseIndex first_destination_base_;
  std::vector<ProgramStream> sources_;
  std::vector<ProgramStream> destinations_;
  std::vector<std::vector<std::int64_t>> chunk_starts_;  // of each column
  LoweredRank lowered_;
};

}  // namespace

Result<LoweredRank> Lower(const RankPart& part) { return Lowering(part).Run(); }

}  // namespace reshard
