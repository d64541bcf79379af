#include "simulator/workload.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// Rounds stay far below 2^31, so that a round plus a lag never wraps, and results by round stay
// small. No real plan has a thousandth of these.
constexpr std::int64_t kLastRound = std::int64_t{1} << 24;
// Rounding a longer one up to the alignment could wrap.
constexpr std::int64_t kLongestColumnBytes = std::int64_t{1} << 62;

// A change of bytes at a round.
struct Change {
  RoundIndex round = 0;
  std::int64_t delta = 0;
};

// How many bytes a lane copies, or does work worth copying, for each byte of a column.
struct Ratio {
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;  // above 0

  // Rounded up; nothing where it does not fit.
  std::optional<std::int64_t> Of(std::int64_t bytes) const {
    const std::optional<std::int64_t> product = CheckedMultiply(bytes, numerator);
    if (!product) return std::nullopt;
    return CeilDivide(*product, denominator);
  }
};

std::string Numbered(const char* what, std::int64_t index) {
  return std::string(what) + " " + std::to_string(index);
}

bool Within(std::int64_t index, std::size_t size) {
  return index >= 0 && index < static_cast<std::int64_t>(size);
}

// floor(bytes * weight / 2^32): bytes is split at bit 32, so that no product exceeds 64 bits.
std::int64_t Weighted(std::int64_t bytes, std::uint32_t weight) {
  const auto high = static_cast<std::uint64_t>(bytes) >> 32;
  const auto low = static_cast<std::uint64_t>(bytes) & 0xffffffffU;
  return static_cast<std::int64_t>(high * weight + ((low * weight) >> 32));
}

// Reads the amounts of one plan. The chunk sizes of each column are derived once, as segments in
// chunk numbers; items, runs and lanes are sums of these, shifted in time.
class WorkloadBuilder {
 public:
  explicit WorkloadBuilder(const Plan& plan) : plan_(plan) {}

  Result<Workload> Build() {
    if (plan_.schedules.size() != plan_.job.ranks.size()) {
      return InputError("plan: schedules", std::to_string(plan_.schedules.size()) +
                                               " schedules for " +
                                               std::to_string(plan_.job.ranks.size()) + " ranks");
    }
    if (Result<void> columns = ReadColumns(); !columns) return tl::unexpected(columns.error());
    for (std::size_t rank = 0; rank < plan_.schedules.size(); ++rank) {
      if (Result<void> lanes = ReadLanes(rank); !lanes) {
        lanes.error().place = "plan: " + Numbered("rank", static_cast<std::int64_t>(rank)) + ", " +
                              lanes.error().place;
        return tl::unexpected(lanes.error());
      }
    }
    for (std::size_t index = 0; index < plan_.transfers.size(); ++index) {
      if (Result<void> transfer = ReadTransfer(plan_.transfers[index]); !transfer) {
        transfer.error().place =
            "plan: " + Numbered("transfer", static_cast<std::int64_t>(index)) +
            (transfer.error().place.empty() ? "" : ", " + transfer.error().place);
        return tl::unexpected(transfer.error());
      }
    }
    return std::move(work_);
  }

 private:
  Result<void> ReadColumns() {
    columns_.reserve(plan_.columns.size());
    for (std::size_t index = 0; index < plan_.columns.size(); ++index) {
      const Column& column = plan_.columns[index];
      const std::string place = "plan: " + Numbered("column", static_cast<std::int64_t>(index));
      if (!Within(column.profile, plan_.profiles.size())) {
        return InputError(place, "there is no profile " + std::to_string(column.profile));
      }
      if (column.begin < 0 || column.begin > column.end) {
        return InputError(place, "its bytes end before they begin");
      }
      if (column.end - column.begin > kLongestColumnBytes) {
        return InputError(place, "is longer than 2^62 bytes");
      }
      const std::vector<std::uint32_t>& weights =
          plan_.profiles[static_cast<std::size_t>(column.profile)].weights;
      if (static_cast<std::int64_t>(weights.size()) > kLastRound) {
        return InputError(place, "its profile has too many chunks");
      }
      const std::int64_t first = static_cast<std::int64_t>(chunks_.size());
      if (!AppendChunks(column.end - column.begin, weights)) {
        return InputError(place, "the weights of its profile sum to more than 2^32");
      }
      columns_.push_back(
          {first, static_cast<std::int32_t>(static_cast<std::int64_t>(chunks_.size()) - first)});
    }
    return {};
  }

  // Appends the chunk sizes of a column of `bytes`; false if the last chunk would be negative.
  bool AppendChunks(std::int64_t bytes, const std::vector<std::uint32_t>& weights) {
    const std::size_t count = weights.size();
    std::int64_t rest = bytes;
    for (std::size_t k = 0; k + 1 < count;) {
      std::size_t next = k + 1;
      while (next + 1 < count && weights[next] == weights[k]) ++next;
      const std::int64_t size =
          Weighted(bytes, weights[k]) / kChunkAlignmentBytes * kChunkAlignmentBytes;
      const std::optional<std::int64_t> sum =
          CheckedMultiply(size, static_cast<std::int64_t>(next - k));
      if (!sum || *sum > rest) return false;
      rest -= *sum;
      chunks_.push_back({static_cast<RoundIndex>(k), size});
      k = next;
    }
    if (count > 0) chunks_.push_back({static_cast<RoundIndex>(count - 1), rest});
    chunks_.push_back({static_cast<RoundIndex>(count), 0});
    return true;
  }

  // Adds the chunks of `column`, the first of them in round `first_round`, to `changes_`, rounded
  // up to the alignment of items (`aligned`) or as they are, each `times` times.
  Result<void> AddColumn(ColumnIndex column, std::int64_t first_round, bool aligned,
                         const Ratio& times = {}) {
    if (!Within(column, columns_.size())) {
      return InputError("", "there is no column " + std::to_string(column));
    }
    if (first_round < 0 || first_round > kLastRound) {
      return InputError("", "its first round is " + std::to_string(first_round));
    }
    const SegmentRange& range = columns_[static_cast<std::size_t>(column)];
    std::int64_t before = 0;
    for (std::int32_t i = 0; i < range.count; ++i) {
      const Segment& chunk = chunks_[static_cast<std::size_t>(range.first + i)];
      std::int64_t bytes = chunk.bytes;
      if (aligned) bytes = CeilDivide(bytes, kChunkAlignmentBytes) * kChunkAlignmentBytes;
      const std::optional<std::int64_t> product = times.Of(bytes);
      if (!product) return InputError("", "moves more than 2^63 bytes in one round");
      bytes = *product;
      if (bytes != before) {
        changes_.push_back(
            {static_cast<RoundIndex>(first_round + chunk.first_round), bytes - before});
      }
      before = bytes;
    }
    return {};
  }

  // Turns `changes_` into segments and empties it.
  Result<SegmentRange> Close() {
    if (!SumByRound()) return InputError("", "moves more than 2^63 bytes in one round");
    SegmentRange range{static_cast<std::int64_t>(work_.segments.size()), 0};
    std::int64_t bytes = 0;
    for (const Change& change : changes_) {
      if (change.delta == 0) continue;
      const std::optional<std::int64_t> sum = CheckedAdd(bytes, change.delta);
      if (!sum) return InputError("", "moves more than 2^63 bytes in one round");
      bytes = *sum;
      work_.segments.push_back({change.round, bytes});
      ++range.count;
    }
    changes_.clear();
    return range;
  }

  // Leaves in `changes_` one change a round, ascending; false if a sum exceeds 64 bits. Real plans
  // have far more changes than rounds, so each round has its sum; where a file has rounds far
  // apart, the changes are sorted instead.
  bool SumByRound() {
    if (changes_.empty()) return true;
    const auto [first, last] = std::ranges::minmax(changes_, {}, &Change::round);
    const std::int64_t rounds = std::int64_t{last.round} - first.round + 1;
    if (rounds > static_cast<std::int64_t>(changes_.size())) {
      std::ranges::sort(changes_, {}, &Change::round);
      std::size_t kept = 0;
      for (std::size_t i = 1; i < changes_.size(); ++i) {
        if (changes_[i].round != changes_[kept].round) {
          changes_[++kept] = changes_[i];
        } else if (!Accumulate(changes_[i].delta, changes_[kept].delta)) {
          return false;
        }
      }
      changes_.resize(kept + 1);
      return true;
    }
    std::vector<Change> sums(static_cast<std::size_t>(rounds));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i].round = static_cast<RoundIndex>(first.round + static_cast<std::int64_t>(i));
    }
    for (const Change& change : changes_) {
      if (!Accumulate(change.delta,
                      sums[static_cast<std::size_t>(change.round - first.round)].delta)) {
        return false;
      }
    }
    changes_ = std::move(sums);
    return true;
  }

  static bool Accumulate(std::int64_t delta, std::int64_t& sum) {
    const std::optional<std::int64_t> next = CheckedAdd(sum, delta);
    if (next) sum = *next;
    return next.has_value();
  }

  // Source bytes that computing a program reads beyond its bytes, per byte: of blocks, elements are
  // read for the largest magnitude and once more for the values.
  double ExtraReads(const CopyProgram& program) const {
    const RankLayout& layout = plan_.job.layouts[static_cast<std::size_t>(program.layout)];
    double total = 0;
    double extra = 0;
    for (std::int64_t i = 0; i < program.size(); ++i) {
      const CopyEntry entry = program[i];
      const auto bytes = static_cast<double>(entry.bytes());
      total += bytes;
      const auto found =
          std::ranges::lower_bound(layout.conversions, entry.parameter, {}, &Conversion::parameter);
      if (found == layout.conversions.end() || found->parameter != entry.parameter) continue;
      const auto element_bytes = [&layout](ParameterIndex parameter) {
        return static_cast<double>(
            ElementBytes(layout.parameters[static_cast<std::size_t>(parameter)].dtype));
      };
      double reads = bytes / element_bytes(found->parameter) * element_bytes(found->source);
      if (IsOfScales(found->kind)) {
        for (std::size_t d = 0; d < found->block.size(); ++d) {
          reads *= static_cast<double>(std::min(found->block[d], found->extent[d]));
        }
      } else if (IsOfBlocks(found->kind)) {
        reads *= 2;
      }
      extra += reads - bytes;
    }
    return total > 0 ? extra / total : 0;
  }

  // What `rank` copies for each byte of a column that it reads from its parameters and writes to
  // `places`. A copy reads a byte and writes one; what a conversion reads beyond counts half.
  Ratio ReadRatio(std::size_t rank, ColumnIndex column, std::int64_t places) {
    const LayoutIndex layout = plan_.job.ranks[rank].source_layout;
    if (layout == kNoLayout || !Within(column, plan_.columns.size()) ||
        plan_.job.layouts[static_cast<std::size_t>(layout)].conversions.empty()) {
      return {places, 1};
    }
    const ClassIndex demand_class = plan_.columns[static_cast<std::size_t>(column)].demand_class;
    const auto [known, is_new] = extra_reads_.try_emplace(std::pair(layout, demand_class));
    if (is_new) {
      const auto programs = FindPrograms(plan_.programs, layout, demand_class);
      if (!programs.empty()) known->second = ExtraReads(programs.front());
    }
    // In 1024ths and below a million, so that the product with a chunk stays far below 2^63.
    constexpr std::int64_t kUnit = 1024;
    constexpr double kMost = 1e6;
    const auto beyond = static_cast<std::int64_t>(std::min(known->second, kMost) * (kUnit / 2.0));
    return beyond == 0 ? Ratio{places, 1} : Ratio{places * (kUnit + beyond), kUnit};
  }

  // How many places of `rank` a column is written to.
  std::int64_t PlacesOf(std::size_t rank, ColumnIndex column) const {
    if (!Within(column, plan_.columns.size())) return 1;  // AddColumn() reports it
    const std::span<const CopyProgram> programs =
        FindPrograms(plan_.programs, plan_.job.ranks[rank].destination_layout,
                     plan_.columns[static_cast<std::size_t>(column)].demand_class);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(programs.size()));
  }

  Result<void> AddZeros(std::size_t rank) {
    const RoundIndex round = plan_.schedules[rank].zero_round;
    if (round == kNoZeros) return {};
    if (round < 0 || round >= kLastRound) {
      return InputError("zeros", "their round is " + std::to_string(round));
    }
    for (const CopyProgram& program :
         FindPrograms(plan_.programs, plan_.job.ranks[rank].destination_layout, kZeroClass)) {
      const std::int64_t bytes = CeilDivide(program.bytes(), 2);
      changes_.push_back({round, bytes});
      changes_.push_back({round + 1, -bytes});
    }
    return {};
  }

  Result<void> ReadLanes(std::size_t rank) {
    const RankSchedule& schedule = plan_.schedules[rank];
    for (const SlotKind kind : {SlotKind::kPack, SlotKind::kReceive}) {
      for (std::size_t slot = 0; slot < schedule.slots.size(); ++slot) {
        if (schedule.slots[slot].kind != kind) continue;
        for (const SlotItem& item : schedule.slots[slot].items) {
          if (kind == SlotKind::kReceive && !item.unpack) continue;
          Ratio times;
          if (kind == SlotKind::kReceive) {
            times.numerator = PlacesOf(rank, item.column);
          } else if (item.origin_slot == kFromParameters) {
            times = ReadRatio(rank, item.column, 1);
          }
          if (Result<void> added = AddColumn(item.column, item.first_round, false, times); !added) {
            added.error().place = Numbered("slot", static_cast<std::int64_t>(slot));
            return added;
          }
        }
      }
      if (kind == SlotKind::kReceive) {
        for (const LocalMove& move : schedule.local_moves) {
          const Ratio times = ReadRatio(rank, move.column, PlacesOf(rank, move.column));
          if (Result<void> added = AddColumn(move.column, move.first_round, false, times); !added) {
            added.error().place = "local move";
            return added;
          }
        }
        if (Result<void> added = AddZeros(rank); !added) return added;
      }
      const Result<SegmentRange> range = Close();
      if (!range) return tl::unexpected(range.error());
      (kind == SlotKind::kPack ? work_.pack : work_.unpack).push_back(*range);
    }
    return ReadWaits(schedule);
  }

  static Result<void> ReadWaits(const RankSchedule& schedule) {
    for (std::size_t index = 0; index < schedule.waits.size(); ++index) {
      const Wait& wait = schedule.waits[index];
      const bool lanes =
          static_cast<int>(wait.lane) < kLaneCount && static_cast<int>(wait.on) < kLaneCount;
      if (!lanes || wait.lag < 0) {
        return InputError(Numbered("wait", static_cast<std::int64_t>(index)),
                          lanes ? "its lag is negative" : "it names no lane");
      }
    }
    return {};
  }

  Result<void> ReadTransfer(const Transfer& transfer) {
    for (const RankIndex rank : {transfer.from, transfer.to}) {
      if (!Within(rank, plan_.schedules.size())) {
        return InputError("", "there is no rank " + std::to_string(rank));
      }
    }
    if (transfer.from == transfer.to) {
      return InputError("", "rank " + std::to_string(transfer.from) + " sends to itself");
    }
    if (transfer.lag < 0 || transfer.lag > kLastRound) {
      return InputError("", "its lag is " + std::to_string(transfer.lag));
    }
    const std::vector<Slot>& slots = plan_.schedules[static_cast<std::size_t>(transfer.from)].slots;
    if (!Within(transfer.source.slot, slots.size())) {
      return InputError("", "its sender has no slot " + std::to_string(transfer.source.slot));
    }
    const std::vector<SlotItem>& items =
        slots[static_cast<std::size_t>(transfer.source.slot)].items;
    const std::int64_t first = transfer.source.first_item;
    const std::int64_t count = transfer.source.item_count;
    if (first < 0 || count < 0 || first + count > static_cast<std::int64_t>(items.size())) {
      return InputError("", "its items lie outside its sender's slot");
    }
    for (std::int64_t i = first; i < first + count; ++i) {
      const SlotItem& item = items[static_cast<std::size_t>(i)];
      const Result<void> added =
          AddColumn(item.column, std::int64_t{item.first_round} + transfer.lag, true);
      if (!added) return added;
    }
    const Result<SegmentRange> range = Close();
    if (!range) return tl::unexpected(range.error());
    work_.transfers.push_back(*range);
    return {};
  }

  const Plan& plan_;
  Workload work_;
  std::vector<Segment> chunks_;        // of all columns, in chunk numbers
  std::vector<SegmentRange> columns_;  // per column, into chunks_
  std::vector<Change> changes_;        // of the amount being read
  std::map<std::pair<LayoutIndex, ClassIndex>, double> extra_reads_;
};

}  // namespace

Result<std::int64_t> TotalBytes(std::span<const Segment> segments) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    const std::optional<std::int64_t> bytes = CheckedMultiply(
        segments[i].bytes, std::int64_t{segments[i + 1].first_round} - segments[i].first_round);
    const std::optional<std::int64_t> sum = bytes ? CheckedAdd(total, *bytes) : std::nullopt;
    if (!sum) return InputError("plan", "an amount exceeds 2^63 bytes");
    total = *sum;
  }
  return total;
}

Result<Workload> MakeWorkload(const Plan& plan) { return WorkloadBuilder(plan).Build(); }

}  // namespace reshard
