#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/checked_arithmetic.h"
#include "schedules/verification.h"

namespace reshard::verification {
namespace {

// More bytes than any machine has: sums of a few such numbers still fit 64 bits.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;

// Bytes of a buffer, if its shape is legal and they are at most kMaxBytes.
bool IsLegalShape(const std::vector<std::int64_t>& shape, DType dtype) {
  if (static_cast<int>(dtype) >= kDTypeCount) return false;
  // Zeros count as ones, so that partial products fit whatever their order.
  std::int64_t bytes = ElementBytes(dtype);
  for (const std::int64_t extent : shape) {
    if (extent < 0) return false;
    const auto product = CheckedMultiply(bytes, std::max(extent, std::int64_t{1}));
    if (!product || *product > kMaxBytes) return false;
    bytes = *product;
  }
  return true;
}

Result<void> CheckOptions(const Options& options) {
  const bool is_share = options.nic_share > 0 && options.nic_share <= 1;  // false for NaN
  if (options.staging_bytes < 0 || options.chunk_bytes < 0 || options.max_ops_per_group < 1 ||
      options.max_peers < 0 || !is_share) {
    return Broken(5, "options", "a limit is negative, or nicShare is not in (0, 1]");
  }
  return {};
}

Result<void> CheckTensors(const std::vector<Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string place = fmt::format("tensor \"{}\"", tensors[i].name);
    if (!IsLegalShape(tensors[i].shape, tensors[i].dtype)) {
      return Broken(1, place, "its shape is negative or larger than 2^60 bytes");
    }
    if (i > 0 && tensors[i - 1].name >= tensors[i].name) {
      return Broken(6, place, "tensors do not ascend by name");
    }
  }
  return {};
}

// Names are compared through their hashes: a layout has 100,000 of them.
std::string_view FirstRepeated(const std::vector<Parameter>& parameters) {
  std::vector<std::pair<std::uint64_t, std::size_t>> hashes;
  hashes.reserve(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = parameters[i].name;
    hashes.emplace_back(XXH3_64bits(name.data(), name.size()), i);
  }
  std::sort(hashes.begin(), hashes.end());
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    for (std::size_t k = i + 1; k < hashes.size() && hashes[k].first == hashes[i].first; ++k) {
      if (parameters[hashes[i].second].name == parameters[hashes[k].second].name) {
        return parameters[hashes[i].second].name;
      }
    }
  }
  return {};
}

Result<void> CheckParameters(const std::vector<RankLayout>& layouts) {
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    for (const Parameter& parameter : layouts[i].parameters) {
      if (parameter.name.empty() || !IsLegalShape(parameter.shape, parameter.dtype)) {
        return Broken(1, fmt::format("layout {}, parameter \"{}\"", i, parameter.name),
                      "it has no name, or its shape is negative or larger than 2^60 bytes");
      }
    }
    const std::string_view repeated = FirstRepeated(layouts[i].parameters);
    if (!repeated.empty()) {
      return Broken(1, fmt::format("layout {}, parameter \"{}\"", i, repeated),
                    "two parameters have this name");
    }
  }
  return {};
}

Result<void> CheckRanks(const std::vector<Rank>& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Rank& rank = ranks[i];
    const std::string place = fmt::format("rank {}", i);
    if (rank.gpu < 0 || rank.node < 0 || rank.domain < 0) {
      return Broken(1, place, "its GPU, node or domain is negative");
    }
    if (i > 0 && ranks[i - 1].gpu >= rank.gpu)
      return Broken(6, place, "ranks do not ascend by GPU");
    if ((rank.source_group == kNoGroup) != (rank.source_layout == kNoLayout) ||
        (rank.destination_group == kNoGroup) != (rank.destination_layout == kNoLayout) ||
        rank.source_group < kNoGroup || rank.destination_group < kNoGroup) {
      return Broken(1, place, "it has a group without a layout, or a layout without a group");
    }
    if (rank.source_layout == kNoLayout && rank.destination_layout == kNoLayout) {
      return Broken(1, place, "it is of neither side");
    }
  }
  return {};
}

Result<void> CheckDemandRecords(const Demand& demand) {
  for (std::size_t i = 0; i < demand.rank_sets.size(); ++i) {
    const std::vector<RankIndex>& set = demand.rank_sets[i];
    if (std::adjacent_find(set.begin(), set.end(), std::greater_equal<>()) != set.end()) {
      return Broken(6, fmt::format("rank set {}", i), "its ranks do not ascend");
    }
  }
  for (std::size_t i = 0; i < demand.classes.size(); ++i) {
    const DemandClass& demand_class = demand.classes[i];
    if (demand.Holders(demand_class).empty() || demand.Needers(demand_class).empty()) {
      return Broken(1, fmt::format("class {}", i), "nobody holds it, or nobody needs it");
    }
  }
  return {};
}

Result<void> CheckInPlaceRecords(const std::vector<InPlacePair>& pairs) {
  const auto repeated = [&pairs](std::string InPlacePair::*side) -> std::string {
    std::vector<std::string_view> names;
    for (const InPlacePair& pair : pairs) names.push_back(pair.*side);
    std::sort(names.begin(), names.end());
    const auto found = std::adjacent_find(names.begin(), names.end());
    return found == names.end() ? "" : std::string(*found);
  };
  for (const std::string& name :
       {repeated(&InPlacePair::source_parameter), repeated(&InPlacePair::destination_parameter)}) {
    if (!name.empty()) {
      return Broken(3, fmt::format("in-place parameter \"{}\"", name),
                    "it shares memory with two parameters of the other side");
    }
  }
  return {};
}

Result<void> CheckProfiles(const Plan& plan) {
  for (std::size_t i = 0; i < plan.profiles.size(); ++i) {
    const std::vector<std::uint32_t>& weights = plan.profiles[i].weights;
    const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
    if (weights.empty() || sum > (std::uint64_t{1} << 32U)) {
      return Broken(1, fmt::format("profile {}", i),
                    weights.empty() ? "it has no chunk" : "its weights sum to more than 2^32");
    }
  }
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    const Column& column = plan.columns[i];
    const DemandClass& demand_class =
        plan.demand.classes[static_cast<std::size_t>(column.demand_class)];
    if (column.begin < 0 || column.begin >= column.end || column.end > demand_class.bytes) {
      return Broken(1, fmt::format("column {}", i),
                    fmt::format("bytes [{}, {}) are none of class {}, which has {}", column.begin,
                                column.end, column.demand_class, demand_class.bytes));
    }
  }
  return {};
}

// Whether all chunks of a column that starts in `first_round` lie within the plan's rounds.
bool FitsRounds(const Plan& plan, ColumnIndex column, RoundIndex first_round) {
  const Profile& profile = plan.profiles[static_cast<std::size_t>(
      plan.columns[static_cast<std::size_t>(column)].profile)];
  return first_round >= 0 && static_cast<std::int64_t>(profile.weights.size()) <=
                                 plan.round_count - std::int64_t{first_round};
}

Result<void> CheckSlots(const Plan& plan, std::size_t rank) {
  const std::vector<Slot>& slots = plan.schedules[rank].slots;
  for (std::size_t s = 0; s < slots.size(); ++s) {
    const Slot& slot = slots[s];
    const std::string place = fmt::format("rank {}, slot {}", rank, s);
    if (slot.offset < 0 || slot.offset % kChunkAlignmentBytes != 0 || slot.capacity < 0 ||
        slot.capacity % kChunkAlignmentBytes != 0 || slot.depth < 1) {
      return Broken(
          3, place,
          fmt::format("offset {}, capacity {} or depth {} is negative or no multiple of {}",
                      slot.offset, slot.capacity, slot.depth, kChunkAlignmentBytes));
    }
    for (std::size_t i = 0; i < slot.items.size(); ++i) {
      const SlotItem& item = slot.items[i];
      if (!FitsRounds(plan, item.column, item.first_round)) {
        return Broken(1, fmt::format("{}, item {}", place, i),
                      "its chunks lie outside the plan's rounds");
      }
      const bool is_receive = slot.kind == SlotKind::kReceive;
      if ((is_receive && item.origin_slot != kFromParameters) || (!is_receive && item.unpack)) {
        return Broken(1, fmt::format("{}, item {}", place, i),
                      is_receive ? "what is received is not packed as well"
                                 : "what is packed to be sent is not unpacked");
      }
    }
  }
  return {};
}

Result<void> CheckMovesAndWaits(const Plan& plan, std::size_t rank) {
  const RankSchedule& schedule = plan.schedules[rank];
  for (std::size_t i = 0; i < schedule.local_moves.size(); ++i) {
    const LocalMove& move = schedule.local_moves[i];
    if (!FitsRounds(plan, move.column, move.first_round)) {
      return Broken(1, fmt::format("rank {}, local move {}", rank, i),
                    "its chunks lie outside the plan's rounds");
    }
  }
  if (schedule.zero_round < kNoZeros || schedule.zero_round >= plan.round_count) {
    return Broken(1, fmt::format("rank {}", rank), "it writes its zeros outside the plan's rounds");
  }
  // A wait that leads back in (round, lane) order only makes every chain of waits end.
  for (std::size_t i = 0; i < schedule.waits.size(); ++i) {
    const Wait& wait = schedule.waits[i];
    if (wait.lag < 0 || (wait.lag == 0 && wait.on >= wait.lane)) {
      return Broken(4, fmt::format("rank {}, wait {}", rank, i),
                    "a step waits for one that is not before it");
    }
  }
  return {};
}

Result<void> CheckTransfers(const Plan& plan) {
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& transfer = plan.transfers[i];
    const std::string place =
        fmt::format("transfer {} from rank {} to rank {}", i, transfer.from, transfer.to);
    if (transfer.from == transfer.to) return Broken(2, place, "a rank sends to itself");
    const auto slot_of = [&plan](RankIndex rank, const SlotRun& run) -> const Slot& {
      return plan.schedules[static_cast<std::size_t>(rank)]
          .slots[static_cast<std::size_t>(run.slot)];
    };
    if (slot_of(transfer.to, transfer.destination).kind != SlotKind::kReceive) {
      return Broken(2, place, "it arrives in a slot that is not for receiving");
    }
    if (transfer.lag < 0) return Broken(3, place, "it sends what is filled in a later round");
    if (transfer.lag == 0 && slot_of(transfer.from, transfer.source).kind == SlotKind::kReceive) {
      return Broken(3, place, "it forwards in the round of arrival");
    }
    if (transfer.source.item_count != transfer.destination.item_count) {
      return Broken(2, place,
                    fmt::format("{} items are sent and {} received", transfer.source.item_count,
                                transfer.destination.item_count));
    }
  }
  return {};
}

}  // namespace

Result<void> VerifyRecords(const Plan& plan) {
  Result<void> done = CheckOptions(plan.job.options);
  if (done) done = CheckTensors(plan.job.tensors);
  if (done) done = CheckParameters(plan.job.layouts);
  if (done) done = CheckRanks(plan.job.ranks);
  if (done) done = CheckDemandRecords(plan.demand);
  if (done) done = CheckInPlaceRecords(plan.job.in_place);
  if (done && plan.round_count < 0) done = Broken(4, "rounds", "their number is negative");
  if (done) done = CheckProfiles(plan);
  for (std::size_t rank = 0; done && rank < plan.schedules.size(); ++rank) {
    done = CheckSlots(plan, rank);
    if (done) done = CheckMovesAndWaits(plan, rank);
  }
  if (done) done = CheckTransfers(plan);
  return done;
}

}  // namespace reshard::verification
