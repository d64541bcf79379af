#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/checked_arithmetic.h"
#include "schedules/lane_names.h"
#include "schedules/lane_order.h"
#include "schedules/rank_part.h"
#include "schedules/verification.h"

namespace reshard::verification {
namespace {

// Sums of sizes that a file decides; each fits 64 bits, their number does not matter.
__extension__ using Wide = __int128;

// Someone reads an item of a slot: in step r + lag of `lane`, what the slot holds of round r.
struct Reading {
  Lane lane = Lane::kUnpack;
  std::int64_t lag = 0;
  std::int32_t item = 0;
};

// All readings of one rank's slots.
class Readings {
 public:
  Readings(const Plan& plan, std::size_t rank, std::span<const std::int32_t> sends)
      : by_slot_(plan.schedules[rank].slots.size()) {
    const std::vector<Slot>& slots = plan.schedules[rank].slots;
    for (std::size_t s = 0; s < slots.size(); ++s) {
      for (std::size_t i = 0; i < slots[s].items.size(); ++i) {
        const SlotItem& item = slots[s].items[i];
        if (item.unpack) {
          by_slot_[s].push_back({Lane::kUnpack, 0, static_cast<std::int32_t>(i)});
        }
        if (item.origin_slot == kFromParameters) continue;
        const auto origin = static_cast<std::size_t>(item.origin_slot);
        const SlotItem& filled = slots[origin].items[static_cast<std::size_t>(item.origin_item)];
        by_slot_[origin].push_back(
            {Lane::kPack, std::int64_t{item.first_round} - filled.first_round, item.origin_item});
      }
    }
    for (const std::int32_t i : sends) {
      const Transfer& transfer = plan.transfers[static_cast<std::size_t>(i)];
      for (std::int32_t k = 0; k < transfer.source.item_count; ++k) {
        by_slot_[static_cast<std::size_t>(transfer.source.slot)].push_back(
            {Lane::kExchange, transfer.lag, transfer.source.first_item + k});
      }
    }
  }
  std::span<const Reading> Of(std::size_t slot) const { return by_slot_[slot]; }

 private:
  std::vector<std::vector<Reading>> by_slot_;
};

// Bytes that enter (or, negative, leave) a slot's instance as one round follows another.
struct Change {
  std::int64_t round = 0;
  std::int64_t bytes = 0;
};

// Sums the changes of each round. Real plans have far more changes than rounds; where a file has
// rounds far apart, they are sorted instead, so that it cannot make the sums long.
Wide LargestSum(std::vector<Change>& changes) {
  if (changes.empty()) return 0;
  const auto [first, last] = std::ranges::minmax(changes, {}, &Change::round);
  std::vector<Wide> sums;
  if (last.round - first.round <= static_cast<std::int64_t>(changes.size())) {
    sums.resize(static_cast<std::size_t>(last.round - first.round) + 1);
    for (const Change& change : changes) {
      sums[static_cast<std::size_t>(change.round - first.round)] += change.bytes;
    }
  } else {
    std::ranges::sort(changes, {}, &Change::round);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (i == 0 || changes[i].round != changes[i - 1].round) sums.push_back(0);
      sums.back() += changes[i].bytes;
    }
  }
  Wide content = 0;
  Wide largest = 0;
  for (const Wide sum : sums) {
    content += sum;
    largest = std::max(largest, content);
  }
  return largest;
}

// The most that one round puts into a slot, from the rounds in which something changes.
Wide LargestContent(const Slot& slot, const ChunkSpans& spans) {
  std::vector<Change> changes;
  for (const SlotItem& item : slot.items) {
    for (const ChunkSpan& span : spans[item.column]) {
      const std::int64_t bytes = AlignedBytes(span.bytes);
      changes.push_back({item.first_round + span.first, bytes});
      changes.push_back({item.first_round + span.last, -bytes});
    }
  }
  return LargestSum(changes);
}

Result<void> CheckContent(const RankSchedule& schedule, std::size_t rank, const ChunkSpans& spans) {
  for (std::size_t s = 0; s < schedule.slots.size(); ++s) {
    const Wide content = LargestContent(schedule.slots[s], spans);
    if (content > schedule.slots[s].capacity) {
      return Broken(3, fmt::format("rank {}, slot {}", rank, s),
                    fmt::format("a round puts {} bytes into its capacity of {}",
                                static_cast<std::int64_t>(std::min<Wide>(content, INT64_MAX)),
                                schedule.slots[s].capacity));
    }
  }
  return {};
}

// Slots of one rank lie apart and within the limit.
Result<void> CheckPlaces(const RankSchedule& schedule, std::size_t rank, std::int64_t limit) {
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < schedule.slots.size(); ++s) {
    const Slot& slot = schedule.slots[s];
    const auto size = CheckedMultiply(slot.capacity, slot.depth);
    const auto end = size ? CheckedAdd(slot.offset, *size) : std::nullopt;
    if (!end || *end > limit) {
      return Broken(5, fmt::format("rank {}, slot {}", rank, s),
                    fmt::format("{} instances of {} bytes from byte {} on exceed the {} bytes of "
                                "staging that the job allows",
                                slot.depth, slot.capacity, slot.offset, limit));
    }
    if (*size > 0) order.push_back(s);
  }
  std::sort(order.begin(), order.end(), [&schedule](std::size_t a, std::size_t b) {
    return schedule.slots[a].offset < schedule.slots[b].offset;
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Slot& before = schedule.slots[order[i - 1]];
    if (before.offset + before.capacity * before.depth <= schedule.slots[order[i]].offset) continue;
    return Broken(3, fmt::format("rank {}", rank),
                  fmt::format("slots {} and {} overlap in staging",
                              std::min(order[i - 1], order[i]), std::max(order[i - 1], order[i])));
  }
  return {};
}

// A slot is read after it is filled, and an instance is filled again after it is read.
//
// Instance r mod depth, filled in step r of the slot's lane, is read in step r + lag of a reader's
// and filled again in step r + depth at the earliest; later fillings follow that one in lane order.
// So both orders hold for all rounds or, but for the first and last few, for none.
Result<void> CheckOrder(const Slot& slot, std::string_view place, std::span<const Reading> readings,
                        const LaneOrder& order, const ChunkSpans& spans) {
  const Lane filler = slot.kind == SlotKind::kPack ? Lane::kPack : Lane::kExchange;
  std::int64_t last_filled = 0;  // one past the last round that puts anything in
  for (const SlotItem& item : slot.items) {
    last_filled =
        std::max(last_filled, std::int64_t{spans.Active(item.column, item.first_round).last});
  }
  for (const Reading& reading : readings) {
    const SlotItem& item = slot.items[static_cast<std::size_t>(reading.item)];
    if (!order.IsAfter(reading.lane, reading.lag, filler, 0)) {
      return Broken(
          3, fmt::format("{}, item {}", place, reading.item),
          fmt::format("step r + {} of the {} lane reads what step r of the {} lane fills, "
                      "but does not wait for it",
                      reading.lag, LaneName(reading.lane), LaneName(filler)));
    }
    const std::int64_t first_read = spans.Active(item.column, item.first_round).first;
    const bool is_reused = first_read + slot.depth < last_filled;
    if (is_reused && !order.IsAfter(filler, slot.depth, reading.lane, reading.lag)) {
      return Broken(3, fmt::format("{}, item {}", place, reading.item),
                    fmt::format("step r + {} of the {} lane overwrites what step r + {} of the {} "
                                "lane reads, but does not wait for it",
                                slot.depth, LaneName(filler), reading.lag, LaneName(reading.lane)));
    }
  }
  return {};
}

}  // namespace

Result<void> VerifyStaging(const Plan& plan, const ChunkSpans& spans, VerifierReport& report) {
  const TransfersByRank transfers(plan);
  for (std::size_t rank = 0; rank < plan.schedules.size(); ++rank) {
    const RankSchedule& schedule = plan.schedules[rank];
    Result<void> done = CheckPlaces(schedule, rank, plan.job.options.staging_bytes);
    if (done) done = CheckContent(schedule, rank, spans);
    const LaneOrder order(schedule.waits);
    const Readings readings(plan, rank, transfers.sends[rank]);
    for (std::size_t s = 0; done && s < schedule.slots.size(); ++s) {
      done = CheckOrder(schedule.slots[s], fmt::format("rank {}, slot {}", rank, s), readings.Of(s),
                        order, spans);
    }
    if (!done) return done;
    const std::int64_t bytes = StagingBytes(schedule);
    if (bytes > report.staging_bytes_max) {
      report.staging_bytes_max = bytes;
      report.staging_rank = static_cast<RankIndex>(rank);
    }
  }
  return {};
}

}  // namespace reshard::verification
