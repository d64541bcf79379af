#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedules/address_map.h"
#include "schedules/lane_order.h"
#include "schedules/verification.h"

namespace reshard::verification {
namespace {

// Comparisons of one rank's reads with its writes, where nothing cheaper tells them apart.
constexpr std::int64_t kMaxComparisons = std::int64_t{1} << 28;

// A fragment's bytes in memory that two parameters share, read or written.
struct Access {
  std::int64_t begin = 0;  // bytes [begin, end) of the shared memory hold them all
  std::int64_t end = 0;
  std::int64_t stride = 0;  // of the only dim beside the run, or 0: then the bytes are one run or
  std::int64_t run = 0;     // anything
  Lane lane = Lane::kUnpack;
  std::int64_t step = 0;  // the last one that reads it, the first one that writes it
  ClassIndex demand_class = 0;
  std::int64_t fragment = 0;  // or, of kZeroClass, the number of the zeros
};

// Bytes [begin, end) of a class's stream that are moved, chunk by chunk, from a first step on.
struct Passage {
  ClassIndex demand_class = 0;
  Lane lane = Lane::kUnpack;
  ColumnIndex column = 0;
  RoundIndex first_round = 0;
  bool is_move = false;  // written from the rank's own source parameters
};

// Two runs that repeat with one stride are apart if they are so modulo the stride.
bool AreApart(const Access& a, const Access& b) {
  if (a.end <= b.begin || b.end <= a.begin) return true;
  if (a.stride == 0 || a.stride != b.stride || a.run > a.stride || b.run > b.stride) return false;
  const std::int64_t distance = ((b.begin - a.begin) % a.stride + a.stride) % a.stride;
  return distance >= a.run && a.stride - distance >= b.run;
}

class RankInPlace {
 public:
  RankInPlace(const Plan& plan, RankIndex rank, const SharedParameters& shared)
      : plan_(plan), rank_(rank), shared_(shared) {}

  Result<void> Check() {
    CollectPassages();
    const Rank& record = plan_.job.ranks[static_cast<std::size_t>(rank_)];
    std::map<ParameterIndex, std::vector<Access>> reads;  // by destination parameter
    std::map<ParameterIndex, std::vector<Access>> writes;
    for (const Passage& passage : reads_) {
      const auto places = FindPrograms(plan_.programs, record.source_layout, passage.demand_class);
      if (!places.empty()) Collect(passage, places.front(), nullptr, /*writes=*/false, reads);
    }
    for (const Passage& passage : writes_) {
      const auto sources = FindPrograms(plan_.programs, record.source_layout, passage.demand_class);
      const CopyProgram* moved = passage.is_move && !sources.empty() ? &sources.front() : nullptr;
      for (const CopyProgram& place :
           FindPrograms(plan_.programs, record.destination_layout, passage.demand_class)) {
        Collect(passage, place, moved, /*writes=*/true, writes);
      }
    }
    CollectZeros(record.destination_layout, writes);
    for (auto& [parameter, accesses] : reads) {
      const auto found = writes.find(parameter);
      if (found == writes.end()) continue;
      if (auto done = Compare(accesses, found->second); !done) return done;
    }
    return {};
  }

 private:
  void CollectPassages() {
    const RankSchedule& schedule = plan_.schedules[static_cast<std::size_t>(rank_)];
    const auto passage = [this](Lane lane, ColumnIndex column, RoundIndex first_round,
                                bool is_move = false) {
      return Passage{plan_.columns[static_cast<std::size_t>(column)].demand_class, lane, column,
                     first_round, is_move};
    };
    for (const Slot& slot : schedule.slots) {
      for (const SlotItem& item : slot.items) {
        if (slot.kind == SlotKind::kPack && item.origin_slot == kFromParameters) {
          reads_.push_back(passage(Lane::kPack, item.column, item.first_round));
        }
        if (item.unpack) writes_.push_back(passage(Lane::kUnpack, item.column, item.first_round));
      }
    }
    for (const LocalMove& move : schedule.local_moves) {
      reads_.push_back(passage(Lane::kUnpack, move.column, move.first_round));
      writes_.push_back(passage(Lane::kUnpack, move.column, move.first_round, true));
    }
  }

  // The parameter of the destination in whose memory `parameter` lies, or -1 if it shares none.
  ParameterIndex SharedMemoryOf(ParameterIndex parameter, bool is_destination) const {
    const auto index = static_cast<std::size_t>(parameter);
    if (!is_destination) return shared_.of_source[index];
    return shared_.of_destination[index] < 0 ? -1 : parameter;
  }

  void CollectZeros(LayoutIndex layout,
                    std::map<ParameterIndex, std::vector<Access>>& accesses) const {
    const RoundIndex round = plan_.schedules[static_cast<std::size_t>(rank_)].zero_round;
    if (round == kNoZeros) return;
    for (const CopyProgram& program : FindPrograms(plan_.programs, layout, kZeroClass)) {
      for (std::int64_t i = 0; i < program.size(); ++i) {
        const CopyEntry entry = program[i];
        const ParameterIndex memory = SharedMemoryOf(entry.parameter, /*is_destination=*/true);
        if (memory < 0) continue;
        Access access = AccessOf(entry);
        access.step = round;
        access.demand_class = kZeroClass;
        access.fragment = i;
        accesses[memory].push_back(access);
      }
    }
  }

  // Adds an access per fragment of the passage that lies in shared memory. What a local move, whose
  // source program is `moved`, copies onto itself stays as it is: it is not written.
  void Collect(const Passage& passage, const CopyProgram& program, const CopyProgram* moved,
               bool writes, std::map<ParameterIndex, std::vector<Access>>& accesses) const {
    const Column& column = plan_.columns[static_cast<std::size_t>(passage.column)];
    const std::vector<std::int64_t> starts =
        ChunkStarts(column, plan_.profiles[static_cast<std::size_t>(column.profile)]);
    const DemandClass& demand_class =
        plan_.demand.classes[static_cast<std::size_t>(passage.demand_class)];
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < program.size(); ++i) {
      const CopyEntry entry = program[i];
      const std::int64_t end = begin + entry.bytes();
      const std::int64_t from = std::max(begin, column.begin);
      const std::int64_t to = std::min(end, column.end);
      begin = end;
      if (from >= to) continue;
      const ParameterIndex memory = SharedMemoryOf(entry.parameter, writes);
      if (memory < 0) continue;
      if (moved != nullptr && LieInPlace((*moved)[i], entry, shared_)) continue;
      Access access = AccessOf(entry);
      // The chunk of a byte: the last one that starts at or before it. Empty ones start there too,
      // and the last of those that start together is the one with bytes.
      const std::int64_t byte = writes ? from : to - 1;
      const auto chunk = std::upper_bound(starts.begin(), starts.end() - 1, byte) - starts.begin();
      access.step = passage.first_round + chunk - 1;
      access.lane = passage.lane;
      access.demand_class = passage.demand_class;
      access.fragment = demand_class.first_fragment + i;
      accesses[memory].push_back(access);
    }
  }

  static Access AccessOf(const CopyEntry& entry) {
    Access access;
    access.begin = entry.offset;
    access.end = entry.offset + entry.run;
    for (const CopyDim& dim : entry.dims) access.end += (dim.count - 1) * dim.stride;
    access.run = entry.run;
    access.stride = entry.dims.size() == 1 ? entry.dims[0].stride : 0;
    return access;
  }

  // The write must start after the read has ended. Within a step nothing is ordered.
  static bool IsOrdered(const LaneOrder& order, const Access& read, const Access& write) {
    return order.IsAfter(write.lane, write.step, read.lane, read.step);
  }

  Result<void> Compare(std::vector<Access>& reads, std::vector<Access>& writes) {
    const LaneOrder order(plan_.schedules[static_cast<std::size_t>(rank_)].waits);
    const auto by_begin = [](const Access& a, const Access& b) {
      return std::tuple(a.begin, a.fragment) < std::tuple(b.begin, b.fragment);
    };
    std::sort(reads.begin(), reads.end(), by_begin);
    std::sort(writes.begin(), writes.end(), by_begin);
    // Writes that end at or before a read's begin are before the first whose ends so far exceed it.
    std::vector<std::int64_t> reach;
    for (const Access& write : writes) {
      reach.push_back(std::max(reach.empty() ? write.end : reach.back(), write.end));
    }
    for (const Access& read : reads) {
      auto at = static_cast<std::size_t>(std::upper_bound(reach.begin(), reach.end(), read.begin) -
                                         reach.begin());
      for (; at < writes.size() && writes[at].begin < read.end; ++at) {
        if (--comparisons_left_ < 0) {
          return Broken(3, fmt::format("rank {}", rank_),
                        "its shared parameters interleave too finely to prove that no byte is "
                        "overwritten before it is read");
        }
        const Access& write = writes[at];
        if (IsOrdered(order, read, write) || AreApart(read, write)) continue;
        return Broken(3,
                      write.demand_class == kZeroClass
                          ? fmt::format("rank {}, zeros {}", rank_, write.fragment)
                          : fmt::format("rank {}, class {}, fragment {}", rank_, write.demand_class,
                                        write.fragment),
                      fmt::format("round {} writes it in place over fragment {} of class {}, which "
                                  "round {} may still read",
                                  write.step, read.fragment, read.demand_class, read.step));
      }
    }
    return {};
  }

  const Plan& plan_;
  RankIndex rank_;
  const SharedParameters& shared_;
  std::vector<Passage> reads_;
  std::vector<Passage> writes_;
  std::int64_t comparisons_left_ = kMaxComparisons;
};

}  // namespace

SharedParameters FindSharedParameters(const JobRecords& job, const Rank& rank) {
  if (job.in_place.empty() || rank.source_layout == kNoLayout ||
      rank.destination_layout == kNoLayout) {
    return {};
  }
  const auto numbers_of = [&job](LayoutIndex layout) {
    std::vector<std::pair<std::string_view, ParameterIndex>> numbers;
    const auto& parameters = job.layouts[static_cast<std::size_t>(layout)].parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      numbers.emplace_back(parameters[i].name, static_cast<ParameterIndex>(i));
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  };
  const auto sources = numbers_of(rank.source_layout);
  const auto destinations = numbers_of(rank.destination_layout);
  const auto find = [](const auto& numbers, std::string_view name) {
    const auto found = std::lower_bound(numbers.begin(), numbers.end(), std::pair(name, -1));
    return found != numbers.end() && found->first == name ? found->second : -1;
  };
  SharedParameters shared;
  for (const InPlacePair& pair : job.in_place) {
    const ParameterIndex source = find(sources, pair.source_parameter);
    const ParameterIndex destination = find(destinations, pair.destination_parameter);
    if (source < 0 || destination < 0) continue;
    shared.of_source.resize(sources.size(), -1);
    shared.of_destination.resize(destinations.size(), -1);
    shared.of_source[static_cast<std::size_t>(source)] = destination;
    shared.of_destination[static_cast<std::size_t>(destination)] = source;
  }
  return shared;
}

bool LieInPlace(const CopyEntry& source, const CopyEntry& destination,
                const SharedParameters& shared) {
  if (shared.empty() ||
      shared.of_source[static_cast<std::size_t>(source.parameter)] != destination.parameter) {
    return false;
  }
  AddressMap read;
  AddressMap written;
  read.SetEntry(source);
  written.SetEntry(destination);
  return read == written;
}

std::vector<ByteRange> BytesInPlace(const Demand& demand, std::span<const CopyProgram> source,
                                    std::span<const CopyProgram> destination,
                                    const SharedParameters& shared) {
  std::vector<ByteRange> ranges;
  if (source.empty() || destination.size() != 1) return ranges;
  const CopyProgram& from = source.front();
  const CopyProgram& to = destination.front();
  const DemandClass& demand_class = demand.classes[static_cast<std::size_t>(from.demand_class)];
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < from.size(); ++i) {
    const std::int64_t end = begin + demand.fragments[demand_class.first_fragment + i].bytes;
    if (LieInPlace(from[i], to[i], shared)) {
      if (!ranges.empty() && ranges.back().end == begin) {
        ranges.back().end = end;
      } else {
        ranges.push_back({begin, end});
      }
    }
    begin = end;
  }
  return ranges;
}

Result<void> VerifyInPlace(const Plan& plan) {
  for (std::size_t rank = 0; rank < plan.job.ranks.size(); ++rank) {
    const SharedParameters shared = FindSharedParameters(plan.job, plan.job.ranks[rank]);
    if (shared.empty()) continue;
    const auto done = RankInPlace(plan, static_cast<RankIndex>(rank), shared).Check();
    if (!done) return done;
  }
  return {};
}

}  // namespace reshard::verification
