#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "foundation/checked_arithmetic.h"
#include "schedules/carried_bytes.h"
#include "schedules/verification.h"

namespace reshard::verification {
namespace {

// Rounds [first, last) in which a transfer carries a byte.
struct Interval {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool operator==(const Interval&) const = default;
};

// Of each transfer, the rounds in which any item it brings carries a byte: intervals, ascending and
// not touching.
class ActiveIntervals {
 public:
  ActiveIntervals(const Plan& plan, const ChunkSpans& spans) {
    ends_.reserve(plan.transfers.size());
    std::vector<Interval> of_items;
    for (const Transfer& transfer : plan.transfers) {
      const Slot& slot = plan.schedules[static_cast<std::size_t>(transfer.to)]
                             .slots[static_cast<std::size_t>(transfer.destination.slot)];
      of_items.clear();
      for (std::int32_t k = 0; k < transfer.destination.item_count; ++k) {
        const SlotItem& item =
            slot.items[static_cast<std::size_t>(transfer.destination.first_item + k)];
        AddItem(item.first_round, spans[item.column], of_items);
      }
      AppendUnion(of_items);
    }
  }

  std::span<const Interval> operator[](std::size_t transfer) const {
    const std::size_t first = transfer == 0 ? 0 : ends_[transfer - 1];
    return std::span(intervals_).subspan(first, ends_[transfer] - first);
  }

 private:
  // Spans of a column touch most often, and so an item's are one interval, that of the item before.
  static void AddItem(RoundIndex first_round, std::span<const ChunkSpan> spans,
                      std::vector<Interval>& of_items) {
    const std::size_t before = of_items.size();
    for (const ChunkSpan& span : spans) {
      const Interval interval{first_round + span.first, first_round + span.last};
      if (of_items.size() > before && of_items.back().last == interval.first) {
        of_items.back().last = interval.last;
      } else {
        of_items.push_back(interval);
      }
    }
    if (before > 0 && of_items.size() == before + 1 && of_items[before] == of_items[before - 1]) {
      of_items.pop_back();
    }
  }

  void AppendUnion(std::vector<Interval>& of_items) {
    const auto comes_before = [](const Interval& a, const Interval& b) {
      return std::pair(a.first, a.last) < std::pair(b.first, b.last);
    };
    std::sort(of_items.begin(), of_items.end(), comes_before);
    const std::size_t first = intervals_.size();
    for (const Interval& interval : of_items) {
      if (intervals_.size() > first && interval.first <= intervals_.back().last) {
        intervals_.back().last = std::max(intervals_.back().last, interval.last);
      } else {
        intervals_.push_back(interval);
      }
    }
    ends_.push_back(intervals_.size());
  }

  std::vector<Interval> intervals_;  // transfer by transfer
  std::vector<std::size_t> ends_;    // per transfer, into intervals_
};

// Operations of one rank that begin or end in a round.
struct Change {
  std::int64_t round = 0;
  std::int64_t operations = 0;
};

std::int64_t LargestGroup(std::vector<Change>& changes) {
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::pair(a.round, a.operations) < std::pair(b.round, b.operations);
  });
  std::int64_t operations = 0;
  std::int64_t largest = 0;
  for (const Change& change : changes) {  // of one round, what ends comes first
    operations += change.operations;
    largest = std::max(largest, operations);
  }
  return largest;
}

// One pair of ranks at a time, as transfers are sorted by it.
Result<void> CheckPairs(const Plan& plan, const ActiveIntervals& intervals) {
  const auto pair_of = [&plan](std::size_t i) {
    return std::pair(plan.transfers[i].from, plan.transfers[i].to);
  };
  for (std::size_t i = 1; i < plan.transfers.size(); ++i) {
    if (std::pair(pair_of(i - 1), intervals[i - 1].front().first) >
        std::pair(pair_of(i), intervals[i].front().first)) {
      return Broken(6, fmt::format("transfer {}", i),
                    "transfers do not ascend by sender, receiver and first round");
    }
  }
  for (std::size_t begin = 0; begin < plan.transfers.size();) {
    std::vector<std::pair<Interval, std::size_t>> active;
    std::size_t end = begin;
    for (; end < plan.transfers.size() && pair_of(end) == pair_of(begin); ++end) {
      for (const Interval& interval : intervals[end]) active.emplace_back(interval, end);
    }
    std::sort(active.begin(), active.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.first.first, a.first.last, a.second) <
             std::tuple(b.first.first, b.first.last, b.second);
    });
    for (std::size_t i = 1; i < active.size(); ++i) {
      if (active[i].first.first >= active[i - 1].first.last) continue;
      return Broken(2,
                    fmt::format("transfers {} and {} from rank {} to rank {}", active[i - 1].second,
                                active[i].second, pair_of(begin).first, pair_of(begin).second),
                    fmt::format("both carry bytes in round {}", active[i].first.first));
    }
    begin = end;
  }
  return {};
}

std::int64_t SaturatedSum(std::int64_t a, std::int64_t b) {
  return CheckedAdd(a, b).value_or(INT64_MAX);
}

void CountBytes(const Plan& plan, VerifierReport& report) {
  for (const Transfer& transfer : plan.transfers) {
    const bool is_inside = plan.job.ranks[static_cast<std::size_t>(transfer.from)].domain ==
                           plan.job.ranks[static_cast<std::size_t>(transfer.to)].domain;
    std::int64_t& total = is_inside ? report.nvlink_bytes : report.network_bytes;
    total = SaturatedSum(total, TransferBytes(plan, transfer));
  }
}

}  // namespace

Result<void> VerifyGroups(const Plan& plan, const ChunkSpans& spans, VerifierReport& report) {
  const ActiveIntervals intervals(plan, spans);
  std::vector<std::vector<Change>> changes(plan.job.ranks.size());
  std::vector<std::vector<RankIndex>> peers(plan.job.ranks.size());
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& transfer = plan.transfers[i];
    for (const auto& [rank, peer] :
         {std::pair(transfer.from, transfer.to), std::pair(transfer.to, transfer.from)}) {
      for (const Interval& interval : intervals[i]) {
        changes[static_cast<std::size_t>(rank)].push_back({interval.first, 1});
        changes[static_cast<std::size_t>(rank)].push_back({interval.last, -1});
      }
      peers[static_cast<std::size_t>(rank)].push_back(peer);
    }
  }
  if (auto done = CheckPairs(plan, intervals); !done) return done;
  const Options& options = plan.job.options;
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    const std::int64_t operations = LargestGroup(changes[rank]);
    if (operations > options.max_ops_per_group) {
      return Broken(4, fmt::format("rank {}", rank),
                    fmt::format("one of its NCCL groups has {} operations, {} are allowed",
                                operations, options.max_ops_per_group));
    }
    std::sort(peers[rank].begin(), peers[rank].end());
    const auto count = static_cast<std::int64_t>(
        std::unique(peers[rank].begin(), peers[rank].end()) - peers[rank].begin());
    if (options.max_peers > 0 && count > options.max_peers) {
      return Broken(5, fmt::format("rank {}", rank),
                    fmt::format("it has {} peers, {} are allowed", count, options.max_peers));
    }
    report.ops_per_group_max = std::max(report.ops_per_group_max, operations);
    report.peers_max = std::max(report.peers_max, count);
  }
  CountBytes(plan, report);
  return {};
}

}  // namespace reshard::verification
