#include "tests/schedules/interleaved_replay.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace reshard {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::uint8_t kGuard = 0xEE;  // never a content: contents are below 0xE0

std::uint8_t Content(TensorIndex tensor, std::int64_t byte) {
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(tensor) * 1000003U + static_cast<std::uint64_t>(byte)) *
      0x9E3779B97F4A7C15U;
  return static_cast<std::uint8_t>((mixed >> 40U) % 0xE0U);
}

std::int64_t SizeOf(const Parameter& parameter) {
  std::int64_t bytes = ElementBytes(parameter.dtype);
  for (const std::int64_t extent : parameter.shape) bytes *= extent;
  return bytes;
}

// Calls visit(byte of the parameter, byte of the tensor) for all bytes of a region.
void VisitRegion(const Region& region, const Tensor& tensor,
                 const std::function<void(std::int64_t, std::int64_t)>& visit) {
  std::vector<std::int64_t> index(region.extent.size(), 0);
  const std::int64_t width = ElementBytes(tensor.dtype);
  while (true) {
    std::int64_t in_parameter = region.offset;
    std::int64_t in_tensor = 0;
    for (std::size_t k = 0; k < index.size(); ++k) {
      in_parameter += index[k] * region.stride[k];
      in_tensor = in_tensor * tensor.shape[k] + region.begin[k] + index[k];
    }
    for (std::int64_t b = 0; b < width; ++b) visit(in_parameter * width + b, in_tensor * width + b);
    std::size_t k = index.size();
    while (k > 0 && ++index[k - 1] == region.extent[k - 1]) index[--k] = 0;
    if (k == 0) return;
  }
}

// (parameter, byte) of each byte of a class's stream.
using Addresses = std::vector<std::pair<ParameterIndex, std::int64_t>>;

Addresses AddressesOf(const CopyProgram& program) {
  Addresses addresses;
  for (std::int64_t i = 0; i < program.size(); ++i) {
    const CopyEntry entry = program[i];
    std::vector<std::int64_t> starts{entry.offset};
    for (const CopyDim& dim : entry.dims) {
      std::vector<std::int64_t> next;
      for (const std::int64_t start : starts) {
        for (std::int64_t k = 0; k < dim.count; ++k) next.push_back(start + k * dim.stride);
      }
      starts = next;
    }
    for (const std::int64_t start : starts) {
      for (std::int64_t b = 0; b < entry.run; ++b)
        addresses.emplace_back(entry.parameter, start + b);
    }
  }
  return addresses;
}

class Replay {
 public:
  Replay(const Plan& plan, std::uint32_t seed) : plan_(plan), random_(seed) {
    ranks_.resize(plan.job.ranks.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) PrepareRank(r);
    for (const CopyProgram& program : plan.programs) {
      addresses_[{program.layout, program.demand_class}].push_back(AddressesOf(program));
    }
    // Some orders favour a lane or a rank for long, as a fast GPU or a slow NIC would.
    for (std::size_t i = 0; i < ranks_.size() * kLaneCount; ++i) favour_.push_back(random_() % 4);
  }

  std::string Run() {
    while (true) {
      StartSteps();
      if (fault_.empty() && open_.empty()) break;
      if (!fault_.empty()) return fault_;
      RunOne();
      if (!fault_.empty()) return fault_;
    }
    for (const RankState& rank : ranks_) {
      for (const std::int64_t ended : rank.ended) {
        if (ended != plan_.round_count) return "deadlock";
      }
    }
    return Compare();
  }

 private:
  struct RankState {
    std::vector<Bytes> source;
    std::vector<Bytes> destination;
    std::map<ParameterIndex, ParameterIndex> shared;  // destination -> source
    Bytes staging;
    std::int64_t started[kLaneCount] = {0, 0, 0};  // steps
    std::int64_t ended[kLaneCount] = {0, 0, 0};
    std::int64_t open[kLaneCount] = {0, 0, 0};  // actions of the step that runs
  };

  // A piece of a step: runs at once, at any time while its step (for transfers: both steps) runs.
  struct Action {
    std::vector<std::pair<std::size_t, int>> steps;  // (rank, lane)
    std::function<void()> run;
  };

  void PrepareRank(std::size_t r) {
    RankState& rank = ranks_[r];
    const Rank& record = plan_.job.ranks[r];
    if (record.source_layout != kNoLayout) {
      const RankLayout& layout = plan_.job.layouts[static_cast<std::size_t>(record.source_layout)];
      for (const Parameter& parameter : layout.parameters) {
        rank.source.emplace_back(static_cast<std::size_t>(SizeOf(parameter)), kGuard);
      }
      for (std::int64_t i = 0; i < layout.regions.size(); ++i) {
        const Region region = layout.regions[i];
        VisitRegion(region, plan_.job.tensors[static_cast<std::size_t>(region.tensor)],
                    [&](std::int64_t in_parameter, std::int64_t in_tensor) {
                      rank.source[static_cast<std::size_t>(region.parameter)]
                                 [static_cast<std::size_t>(in_parameter)] =
                          Content(region.tensor, in_tensor);
                    });
      }
    }
    if (record.destination_layout != kNoLayout) {
      const RankLayout& layout =
          plan_.job.layouts[static_cast<std::size_t>(record.destination_layout)];
      for (const Parameter& parameter : layout.parameters) {
        rank.destination.emplace_back(static_cast<std::size_t>(SizeOf(parameter)), kGuard);
      }
      PairShared(record, rank);
    }
    std::int64_t staging = 0;
    for (const Slot& slot : plan_.schedules[r].slots) {
      staging = std::max(staging, slot.offset + slot.capacity * slot.depth);
    }
    rank.staging.assign(static_cast<std::size_t>(staging), kGuard);
  }

  void PairShared(const Rank& record, RankState& rank) {
    if (record.source_layout == kNoLayout) return;
    const auto& sources =
        plan_.job.layouts[static_cast<std::size_t>(record.source_layout)].parameters;
    const auto& destinations =
        plan_.job.layouts[static_cast<std::size_t>(record.destination_layout)].parameters;
    for (const InPlacePair& pair : plan_.job.in_place) {
      for (std::size_t s = 0; s < sources.size(); ++s) {
        for (std::size_t d = 0; d < destinations.size(); ++d) {
          if (sources[s].name != pair.source_parameter) continue;
          if (destinations[d].name != pair.destination_parameter) continue;
          rank.shared[static_cast<ParameterIndex>(d)] = static_cast<ParameterIndex>(s);
          const std::size_t size = std::max(rank.source[s].size(), rank.destination[d].size());
          rank.source[s].resize(size, kGuard);
        }
      }
    }
  }

  std::uint8_t* SourceByte(std::size_t r, ParameterIndex parameter, std::int64_t byte) {
    return At(ranks_[r].source[static_cast<std::size_t>(parameter)], byte);
  }
  std::uint8_t* DestinationByte(std::size_t r, ParameterIndex parameter, std::int64_t byte) {
    const auto shared = ranks_[r].shared.find(parameter);
    if (shared != ranks_[r].shared.end()) return SourceByte(r, shared->second, byte);
    return At(ranks_[r].destination[static_cast<std::size_t>(parameter)], byte);
  }
  std::uint8_t* At(Bytes& bytes, std::int64_t index) {
    if (index < 0 || index >= static_cast<std::int64_t>(bytes.size())) {
      fault_ = "outside of memory";
      return &nowhere_;
    }
    return &bytes[static_cast<std::size_t>(index)];
  }

  // Where item `item` lies in the instance of `round`, worked out chunk by chunk.
  struct Placed {
    std::int64_t offset = 0;  // in staging
    ByteRange bytes;          // of its class's stream
  };
  Placed PlaceOf(std::size_t r, SlotIndex slot_index, std::int32_t item, std::int64_t round) {
    const Slot& slot = plan_.schedules[r].slots[static_cast<std::size_t>(slot_index)];
    Placed placed;
    placed.offset = slot.offset + round % slot.depth * slot.capacity;
    for (std::int32_t i = 0; i <= item; ++i) {
      placed.bytes = ChunkOf(slot.items[static_cast<std::size_t>(i)].column,
                             round - slot.items[static_cast<std::size_t>(i)].first_round);
      if (i < item) placed.offset += (placed.bytes.size() + 15) / 16 * 16;
    }
    return placed;
  }
  ByteRange ChunkOf(ColumnIndex index, std::int64_t chunk) {
    const Column& column = plan_.columns[static_cast<std::size_t>(index)];
    const auto& weights = plan_.profiles[static_cast<std::size_t>(column.profile)].weights;
    const auto last = static_cast<std::int64_t>(weights.size()) - 1;
    ByteRange range{column.begin, column.begin};
    if (chunk < 0 || chunk > last) return range;
    for (std::int64_t k = 0; k <= chunk; ++k) {
      range.begin = range.end;
      const auto weight = static_cast<double>(weights[static_cast<std::size_t>(k)]);
      // Exact for columns of a test: products below 2^53.
      const auto bytes = static_cast<std::int64_t>(static_cast<double>(column.end - column.begin) *
                                                   weight / 4294967296.0);
      range.end = k == last ? column.end : range.begin + bytes / 16 * 16;
    }
    return range;
  }
  ClassIndex ClassOf(ColumnIndex column) const {
    return plan_.columns[static_cast<std::size_t>(column)].demand_class;
  }
  // Of each place.
  const std::vector<Addresses>& FindAll(LayoutIndex layout, ClassIndex demand_class) {
    const std::vector<Addresses>& found = addresses_[{layout, demand_class}];
    if (found.empty()) fault_ = "no program";
    return found;
  }
  const Addresses* Find(LayoutIndex layout, ClassIndex demand_class) {
    const std::vector<Addresses>& found = FindAll(layout, demand_class);
    return found.empty() ? nullptr : &found.front();
  }

  bool MayStart(std::size_t r, int lane) const {
    const RankState& rank = ranks_[r];
    const std::int64_t step = rank.started[lane];
    if (step == plan_.round_count || rank.ended[lane] != step) return false;
    return std::all_of(plan_.schedules[r].waits.begin(), plan_.schedules[r].waits.end(),
                       [&](const Wait& wait) {
                         return static_cast<int>(wait.lane) != lane || step < wait.lag ||
                                rank.ended[static_cast<int>(wait.on)] > step - wait.lag;
                       });
  }

  void StartSteps() {
    for (bool any = true; any && fault_.empty();) {
      any = false;
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        for (int lane = 0; lane < kLaneCount; ++lane) {
          if (!MayStart(r, lane)) continue;
          any = true;
          const std::int64_t step = ranks_[r].started[lane]++;
          if (lane == static_cast<int>(Lane::kPack)) OpenPack(r, step);
          if (lane == static_cast<int>(Lane::kExchange)) OpenExchange(r, step);
          if (lane == static_cast<int>(Lane::kUnpack)) OpenUnpack(r, step);
          if (ranks_[r].open[lane] == 0) ++ranks_[r].ended[lane];
        }
      }
    }
  }

  void Open(Action action) {
    for (const auto& [r, lane] : action.steps) {
      // A transfer was counted when each of its steps began.
      if (action.steps.size() == 1) ++ranks_[r].open[lane];
    }
    open_.push_back(std::move(action));
  }

  void OpenPack(std::size_t r, std::int64_t step) {
    const RankSchedule& schedule = plan_.schedules[r];
    for (std::size_t s = 0; s < schedule.slots.size(); ++s) {
      if (schedule.slots[s].kind != SlotKind::kPack) continue;
      for (std::size_t i = 0; i < schedule.slots[s].items.size(); ++i) {
        const SlotItem& item = schedule.slots[s].items[i];
        const Placed to = PlaceOf(r, static_cast<SlotIndex>(s), static_cast<std::int32_t>(i), step);
        if (to.bytes.size() == 0) continue;
        Open({{{r, 0}}, [this, r, item, to, step] { Pack(r, item, to, step); }});
      }
    }
  }

  void Pack(std::size_t r, const SlotItem& item, const Placed& to, std::int64_t step) {
    if (item.origin_slot == kFromParameters) {
      const Addresses* from = Find(plan_.job.ranks[r].source_layout, ClassOf(item.column));
      if (from == nullptr) return;
      for (std::int64_t b = to.bytes.begin; b < to.bytes.end; ++b) {
        const auto& [parameter, byte] = (*from)[static_cast<std::size_t>(b)];
        *At(ranks_[r].staging, to.offset + b - to.bytes.begin) = *SourceByte(r, parameter, byte);
      }
      return;
    }
    const SlotItem& origin = plan_.schedules[r]
                                 .slots[static_cast<std::size_t>(item.origin_slot)]
                                 .items[static_cast<std::size_t>(item.origin_item)];
    const Placed from = PlaceOf(r, item.origin_slot, item.origin_item,
                                step - item.first_round + origin.first_round);
    for (std::int64_t b = 0; b < to.bytes.size(); ++b) {
      *At(ranks_[r].staging, to.offset + b) = *At(ranks_[r].staging, from.offset + b);
    }
  }

  std::int64_t RunSize(std::size_t r, const SlotRun& run, std::int64_t round) {
    std::int64_t bytes = 0;
    for (std::int32_t k = 0; k < run.item_count; ++k) {
      bytes += (PlaceOf(r, run.slot, run.first_item + k, round).bytes.size() + 15) / 16 * 16;
    }
    return bytes;
  }

  void OpenExchange(std::size_t r, std::int64_t step) {
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
      const Transfer& transfer = plan_.transfers[i];
      const auto from = static_cast<std::size_t>(transfer.from);
      const auto to = static_cast<std::size_t>(transfer.to);
      if (from != r && to != r) continue;
      const std::int64_t bytes = RunSize(to, transfer.destination, step);
      if (bytes == 0) continue;
      ++ranks_[r].open[1];
      if (!begun_.insert({i, step}).second) {
        // The other end has begun before.
        Open({{{from, 1}, {to, 1}}, [this, &transfer, from, to, step, bytes] {
                const Placed source = PlaceOf(from, transfer.source.slot,
                                              transfer.source.first_item, step - transfer.lag);
                const Placed target =
                    PlaceOf(to, transfer.destination.slot, transfer.destination.first_item, step);
                for (std::int64_t b = 0; b < bytes; ++b) {
                  *At(ranks_[to].staging, target.offset + b) =
                      *At(ranks_[from].staging, source.offset + b);
                }
              }});
      }
    }
  }

  void OpenUnpack(std::size_t r, std::int64_t step) {
    const RankSchedule& schedule = plan_.schedules[r];
    for (std::size_t s = 0; s < schedule.slots.size(); ++s) {
      for (std::size_t i = 0; i < schedule.slots[s].items.size(); ++i) {
        const SlotItem& item = schedule.slots[s].items[i];
        const Placed from =
            PlaceOf(r, static_cast<SlotIndex>(s), static_cast<std::int32_t>(i), step);
        if (!item.unpack || from.bytes.size() == 0) continue;
        Open({{{r, 2}}, [this, r, item, from] {
                for (const Addresses& to :
                     FindAll(plan_.job.ranks[r].destination_layout, ClassOf(item.column))) {
                  for (std::int64_t b = from.bytes.begin; b < from.bytes.end; ++b) {
                    const auto& [parameter, byte] = to[static_cast<std::size_t>(b)];
                    *DestinationByte(r, parameter, byte) =
                        *At(ranks_[r].staging, from.offset + b - from.bytes.begin);
                  }
                }
              }});
      }
    }
    for (const LocalMove& move : schedule.local_moves) {
      const ByteRange bytes = ChunkOf(move.column, step - move.first_round);
      if (bytes.size() == 0) continue;
      Open({{{r, 2}}, [this, r, move, bytes] {
              const Addresses* from = Find(plan_.job.ranks[r].source_layout, ClassOf(move.column));
              if (from == nullptr) return;
              for (const Addresses& to :
                   FindAll(plan_.job.ranks[r].destination_layout, ClassOf(move.column))) {
                for (std::int64_t b = bytes.begin; b < bytes.end; ++b) {
                  const auto& [source, source_byte] = (*from)[static_cast<std::size_t>(b)];
                  const auto& [target, target_byte] = to[static_cast<std::size_t>(b)];
                  *DestinationByte(r, target, target_byte) = *SourceByte(r, source, source_byte);
                }
              }
            }});
    }
    if (step != schedule.zero_round) return;
    Open({{{r, 2}}, [this, r] {
            for (const Addresses& zeros :
                 FindAll(plan_.job.ranks[r].destination_layout, kZeroClass)) {
              for (const auto& [parameter, byte] : zeros) *DestinationByte(r, parameter, byte) = 0;
            }
          }});
  }

  void RunOne() {
    const auto weight = [this](const Action& action) {
      const auto& [r, lane] = action.steps.front();
      return favour_[r * kLaneCount + static_cast<std::size_t>(lane)];
    };
    std::size_t chosen = random_() % open_.size();
    const std::size_t other = random_() % open_.size();
    if (weight(open_[other]) > weight(open_[chosen])) chosen = other;
    const Action action = std::move(open_[chosen]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(chosen));
    action.run();
    for (const auto& [r, lane] : action.steps) {
      if (--ranks_[r].open[lane] == 0) ++ranks_[r].ended[lane];
    }
  }

  std::string Compare() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const LayoutIndex index = plan_.job.ranks[r].destination_layout;
      if (index == kNoLayout) continue;
      const RankLayout& layout = plan_.job.layouts[static_cast<std::size_t>(index)];
      std::string fault;
      std::vector<std::vector<bool>> covered;
      for (const Parameter& parameter : layout.parameters) {
        covered.emplace_back(static_cast<std::size_t>(SizeOf(parameter)), false);
      }
      for (std::int64_t i = 0; i < layout.regions.size(); ++i) {
        const Region region = layout.regions[i];
        VisitRegion(region, plan_.job.tensors[static_cast<std::size_t>(region.tensor)],
                    [&](std::int64_t in_parameter, std::int64_t in_tensor) {
                      covered[static_cast<std::size_t>(region.parameter)]
                             [static_cast<std::size_t>(in_parameter)] = true;
                      if (*DestinationByte(r, region.parameter, in_parameter) !=
                          Content(region.tensor, in_tensor)) {
                        fault = "wrong byte";
                      }
                    });
      }
      for (std::int64_t i = 0; i < layout.zeros.size(); ++i) {
        // Of a tensor as large as they are, whose content does not matter.
        const Region region = layout.zeros[i];
        const Tensor zeros{"",
                           layout.parameters[static_cast<std::size_t>(region.parameter)].dtype,
                           {region.extent.begin(), region.extent.end()}};
        VisitRegion(region, zeros, [&](std::int64_t in_parameter, std::int64_t) {
          covered[static_cast<std::size_t>(region.parameter)]
                 [static_cast<std::size_t>(in_parameter)] = true;
          if (*DestinationByte(r, region.parameter, in_parameter) != 0) fault = "no zero";
        });
      }
      for (std::size_t p = 0; p < covered.size(); ++p) {
        if (ranks_[r].shared.contains(static_cast<ParameterIndex>(p))) continue;
        for (std::size_t b = 0; b < covered[p].size(); ++b) {
          if (!covered[p][b] && ranks_[r].destination[p][b] != kGuard) fault = "padding written";
        }
      }
      if (!fault.empty()) return fault + " on rank " + std::to_string(r);
    }
    return fault_;
  }

  const Plan& plan_;
  std::mt19937 random_;
  std::vector<RankState> ranks_;
  std::map<std::pair<LayoutIndex, ClassIndex>, std::vector<Addresses>> addresses_;
  std::vector<std::uint32_t> favour_;
  std::vector<Action> open_;
  std::set<std::pair<std::size_t, std::int64_t>> begun_;  // (transfer, round) at one end
  std::string fault_;
  std::uint8_t nowhere_ = 0;
};

}  // namespace

std::string ReplayInterleaved(const Plan& plan, std::uint32_t seed) {
  return Replay(plan, seed).Run();
}

}  // namespace reshard
