#include "tests/compiler/plan_execution.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "tests/compiler/random_draws.h"

namespace reshard {
namespace {

using Token = std::uint32_t;
constexpr Token kPoison = 0;
constexpr Token kZero = 2;  // even, as no token of an element is

Token TokenOf(TensorIndex tensor, std::int64_t element, std::int64_t byte) {
  auto hash = static_cast<std::uint64_t>(tensor) * 0x9E3779B97F4A7C15ULL;
  hash = (hash ^ static_cast<std::uint64_t>(element * 8 + byte)) * 0xBF58476D1CE4E5B9ULL;
  hash ^= hash >> 29U;
  hash *= 0x94D049BB133111EBULL;
  return static_cast<Token>(hash >> 32U) | 1U;
}

struct Address {
  std::int32_t parameter = 0;
  std::int64_t byte = 0;
};

std::size_t At(std::int64_t index) { return static_cast<std::size_t>(index); }

// Calls visit(element of the tensor, element of the parameter) for each of a region's.
template <typename Visit>
void ForEachElement(const Tensor& tensor, const Region& region, const Visit& visit) {
  std::vector<std::int64_t> index(region.extent.size(), 0);
  while (true) {
    std::int64_t element = 0;
    std::int64_t at = region.offset;
    for (std::size_t k = 0; k < index.size(); ++k) {
      element = element * tensor.shape[k] + region.begin[k] + index[k];
      at += index[k] * region.stride[k];
    }
    visit(element, at);
    std::size_t k = index.size();
    while (k > 0 && ++index[k - 1] == region.extent[k - 1]) index[--k] = 0;
    if (k == 0) return;
  }
}

std::int64_t BytesOf(const Parameter& parameter) {
  std::int64_t bytes = ElementBytes(parameter.dtype);
  for (const std::int64_t extent : parameter.shape) bytes *= extent;
  return bytes;
}

class PlanExecution {
 public:
  PlanExecution(const Plan& plan, std::uint64_t seed)
      : plan_(plan), draws_(seed), ranks_(plan.job.ranks.size()) {}

  std::string Run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) Prepare(r);
    SortTransfers();
    while (fault_.empty() && Step()) {
    }
    if (fault_.empty()) CheckFinished();
    for (std::size_t r = 0; r < ranks_.size() && fault_.empty(); ++r) CheckContents(r);
    return fault_;
  }

 private:
  struct RankState {
    std::vector<std::vector<Token>> buffers;
    std::vector<std::int32_t> source_buffer;  // per parameter
    std::vector<std::int32_t> destination_buffer;
    std::vector<std::vector<Token>> before;  // of the buffers
    std::vector<Token> staging;
    std::array<RoundIndex, kLaneCount> done{};  // steps ended
    std::array<std::int64_t, kLaneCount> urge{};
    bool exchanging = false;  // the exchange step done[kExchange] has started
    std::int64_t open = 0;    // its transfers not yet made
  };

  void Fail(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  const RankLayout* LayoutOf(std::size_t r, bool destination) const {
    const Rank& rank = plan_.job.ranks[r];
    const LayoutIndex index = destination ? rank.destination_layout : rank.source_layout;
    return index == kNoLayout ? nullptr : &plan_.job.layouts[At(index)];
  }

  void Prepare(std::size_t r) {
    RankState& rank = ranks_[r];
    for (std::int64_t& urge : rank.urge) urge = draws_.Below(100);
    const RankLayout* source = LayoutOf(r, false);
    const RankLayout* destination = LayoutOf(r, true);
    const auto add = [&](const Parameter& parameter) {
      rank.buffers.emplace_back(At(BytesOf(parameter)), kPoison);
      return static_cast<std::int32_t>(rank.buffers.size()) - 1;
    };
    std::map<std::string, std::int32_t> source_of_name;
    if (source != nullptr) {
      for (const Parameter& parameter : source->parameters) {
        source_of_name[parameter.name] = add(parameter);
        rank.source_buffer.push_back(source_of_name[parameter.name]);
      }
      for (std::int64_t i = 0; i < source->regions.size(); ++i) {
        const Region region = source->regions[i];
        PaintRegion(region, rank.buffers[At(rank.source_buffer[At(region.parameter)])]);
      }
    }
    if (destination != nullptr) {
      for (const Parameter& parameter : destination->parameters) {
        std::int32_t buffer = -1;
        for (const InPlacePair& pair : plan_.job.in_place) {
          const auto shared = source_of_name.find(pair.source_parameter);
          if (pair.destination_parameter == parameter.name && shared != source_of_name.end()) {
            buffer = shared->second;
            std::vector<Token>& bytes = rank.buffers[At(buffer)];
            bytes.resize(std::max(bytes.size(), At(BytesOf(parameter))), kPoison);
          }
        }
        rank.destination_buffer.push_back(buffer >= 0 ? buffer : add(parameter));
      }
    }
    rank.before = rank.buffers;
    std::int64_t staging = 0;
    for (const Slot& slot : plan_.schedules[r].slots) {
      staging = std::max(staging, slot.offset + slot.capacity * slot.depth);
    }
    rank.staging.assign(At(staging), kPoison);
  }

  void PaintRegion(const Region& region, std::vector<Token>& buffer) const {
    const Tensor& tensor = plan_.job.tensors[At(region.tensor)];
    const std::int64_t bytes = ElementBytes(tensor.dtype);
    ForEachElement(tensor, region, [&](std::int64_t element, std::int64_t at) {
      for (std::int64_t b = 0; b < bytes; ++b) {
        buffer.at(At(at * bytes + b)) = TokenOf(region.tensor, element, b);
      }
    });
  }

  // The streams of a class in a layout, byte by byte, one for each place.
  const std::vector<std::vector<Address>>& StreamsOf(LayoutIndex layout, ClassIndex c) {
    std::vector<std::vector<Address>>& streams = streams_[{layout, c}];
    if (!streams.empty()) return streams;
    for (const CopyProgram& program : plan_.programs) {
      if (program.layout != layout || program.demand_class != c) continue;
      std::vector<Address>& stream = streams.emplace_back();
      for (std::int64_t i = 0; i < program.size(); ++i) AppendStream(program[i], stream);
      if (c != kZeroClass &&
          static_cast<std::int64_t>(stream.size()) != plan_.demand.classes[At(c)].bytes) {
        Fail("the program of layout " + std::to_string(layout) + " has " +
             std::to_string(stream.size()) + " bytes of class " + std::to_string(c));
      }
    }
    if (streams.empty()) {
      Fail("layout " + std::to_string(layout) + " has no program of class " + std::to_string(c));
      streams.emplace_back();
    }
    return streams;
  }
  static void AppendStream(const CopyEntry& entry, std::vector<Address>& stream) {
    std::vector<std::int64_t> index(entry.dims.size(), 0);
    while (true) {
      std::int64_t at = entry.offset;
      for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * entry.dims[d].stride;
      for (std::int64_t b = 0; b < entry.run; ++b) stream.push_back({entry.parameter, at + b});
      std::size_t d = index.size();
      while (d > 0 && ++index[d - 1] == entry.dims[d - 1].count) index[--d] = 0;
      if (d == 0) return;
    }
  }

  // Where transfers of a round of a rank stand, so that a step need not look at all of them.
  void SortTransfers() {
    of_round_.resize(At(plan_.round_count));
    for (const Transfer& transfer : plan_.transfers) {
      const Slot& slot = plan_.schedules[At(transfer.to)].slots[At(transfer.destination.slot)];
      for (RoundIndex round = 0; round < plan_.round_count; ++round) {
        if (RunBytes(slot, transfer.destination, round, plan_.columns, plan_.profiles) > 0) {
          of_round_[At(round)].push_back(&transfer);
        }
      }
    }
    made_.resize(of_round_.size());
    for (std::size_t r = 0; r < made_.size(); ++r) made_[r].assign(of_round_[r].size(), false);
  }

  bool MayStart(std::size_t r, Lane lane) const {
    const RankState& rank = ranks_[r];
    const RoundIndex step = rank.done[At(static_cast<int>(lane))];
    if (step >= plan_.round_count) return false;
    return std::ranges::all_of(plan_.schedules[r].waits, [&](const Wait& wait) {
      return wait.lane != lane || step < wait.lag ||
             rank.done[At(static_cast<int>(wait.on))] > step - wait.lag;
    });
  }

  struct Action {
    std::size_t rank = 0;
    Lane lane = Lane::kPack;
    std::int64_t transfer = -1;  // of the round, for those of the exchange lane
    std::int64_t urge = 0;
  };

  // One action of those possible: mostly of the lane that has the greatest urge, so that some lanes
  // run far ahead of others. False if there is none.
  bool Step() {
    std::vector<Action> actions;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (const Lane lane : {Lane::kPack, Lane::kUnpack, Lane::kExchange}) {
        if (lane == Lane::kExchange && ranks_[r].exchanging) continue;
        if (!MayStart(r, lane)) continue;
        actions.push_back({r, lane, -1, ranks_[r].urge[At(static_cast<int>(lane))]});
      }
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) AddTransfers(r, actions);
    if (actions.empty()) return false;
    std::size_t chosen = At(draws_.Below(static_cast<std::int64_t>(actions.size())));
    if (draws_.Percent(80)) {
      for (std::size_t i = 0; i < actions.size(); ++i) {
        if (actions[i].urge > actions[chosen].urge) chosen = i;
      }
    }
    Perform(actions[chosen]);
    return true;
  }

  void AddTransfers(std::size_t r, std::vector<Action>& actions) {
    const RankState& rank = ranks_[r];
    if (!rank.exchanging) return;
    const std::size_t round = At(rank.done[At(static_cast<int>(Lane::kExchange))]);
    for (std::size_t t = 0; t < of_round_[round].size(); ++t) {
      const Transfer& transfer = *of_round_[round][t];
      if (At(transfer.to) != r || made_[round][t]) continue;
      const RankState& sender = ranks_[At(transfer.from)];
      if (!sender.exchanging || At(sender.done[At(static_cast<int>(Lane::kExchange))]) != round) {
        continue;
      }
      actions.push_back({r, Lane::kExchange, static_cast<std::int64_t>(t),
                         rank.urge[At(static_cast<int>(Lane::kExchange))]});
    }
  }

  void Perform(const Action& action) {
    RankState& rank = ranks_[action.rank];
    RoundIndex& done = rank.done[At(static_cast<int>(action.lane))];
    if (action.lane == Lane::kPack) {
      Pack(action.rank, done++);
    } else if (action.lane == Lane::kUnpack) {
      Unpack(action.rank, done++);
    } else if (action.transfer < 0) {
      rank.exchanging = true;
      rank.open = std::ranges::count_if(of_round_[At(done)], [&](const Transfer* transfer) {
        return At(transfer->from) == action.rank || At(transfer->to) == action.rank;
      });
      EndExchange(rank);
    } else {
      const Transfer& transfer = *of_round_[At(done)][At(action.transfer)];
      made_[At(done)][At(action.transfer)] = true;
      Move(transfer, done);
      for (const RankIndex end : {transfer.from, transfer.to}) {
        --ranks_[At(end)].open;
        EndExchange(ranks_[At(end)]);
      }
    }
  }
  static void EndExchange(RankState& rank) {
    if (rank.open > 0) return;
    rank.exchanging = false;
    ++rank.done[At(static_cast<int>(Lane::kExchange))];
  }

  // Placements of a slot in a round of its own, as offsets into the rank's staging.
  std::vector<ItemPlacement> Places(std::size_t r, SlotIndex index, RoundIndex round) {
    const Slot& slot = plan_.schedules[r].slots[At(index)];
    std::vector<ItemPlacement> places = PlaceItems(slot, round, plan_.columns, plan_.profiles);
    if (round < 0) {
      Fail("slot " + std::to_string(index) + " of rank " + std::to_string(r) +
           " is used before round 0");
      return places;
    }
    for (ItemPlacement& place : places) {
      if (place.offset + AlignedBytes(place.bytes.size()) > slot.capacity) {
        Fail("slot " + std::to_string(index) + " of rank " + std::to_string(r) +
             " is too small in round " + std::to_string(round));
      }
      place.offset += slot.offset + (round % slot.depth) * slot.capacity;
    }
    return places;
  }

  void Pack(std::size_t r, RoundIndex round) {
    RankState& rank = ranks_[r];
    const RankSchedule& schedule = plan_.schedules[r];
    for (std::size_t s = 0; s < schedule.slots.size(); ++s) {
      const Slot& slot = schedule.slots[s];
      if (slot.kind != SlotKind::kPack) continue;
      const auto places = Places(r, static_cast<SlotIndex>(s), round);
      for (std::size_t i = 0; i < places.size() && fault_.empty(); ++i) {
        if (places[i].bytes.size() == 0) continue;
        const SlotItem& item = slot.items[i];
        if (item.origin_slot == kFromParameters) {
          PackFromParameters(r, plan_.columns[At(item.column)], places[i]);
          continue;
        }
        const SlotItem& origin = schedule.slots[At(item.origin_slot)].items[At(item.origin_item)];
        const auto origins =
            Places(r, item.origin_slot, origin.first_round + round - item.first_round);
        if (!fault_.empty()) return;
        const ItemPlacement& from = origins[At(item.origin_item)];
        if (origin.column != item.column || !(from.bytes == places[i].bytes)) {
          return Fail("a pack item's origin holds other bytes");
        }
        std::copy_n(rank.staging.begin() + from.offset, from.bytes.size(),
                    rank.staging.begin() + places[i].offset);
      }
    }
  }

  void PackFromParameters(std::size_t r, const Column& column, const ItemPlacement& place) {
    RankState& rank = ranks_[r];
    const std::vector<Address>& stream =
        StreamsOf(plan_.job.ranks[r].source_layout, column.demand_class).front();
    for (std::int64_t b = place.bytes.begin; b < place.bytes.end && fault_.empty(); ++b) {
      const Address& address = stream.at(At(b));
      rank.staging.at(At(place.offset + b - place.bytes.begin)) =
          rank.buffers[At(rank.source_buffer.at(At(address.parameter)))].at(At(address.byte));
    }
  }

  void Move(const Transfer& transfer, RoundIndex round) {
    const auto from = Places(At(transfer.from), transfer.source.slot, round - transfer.lag);
    const auto to = Places(At(transfer.to), transfer.destination.slot, round);
    if (transfer.source.item_count != transfer.destination.item_count) {
      return Fail("a transfer's ends differ");
    }
    for (std::int32_t i = 0; i < transfer.source.item_count && fault_.empty(); ++i) {
      const ItemPlacement& source = from.at(At(transfer.source.first_item + i));
      const ItemPlacement& destination = to.at(At(transfer.destination.first_item + i));
      if (!(source.bytes == destination.bytes)) {
        return Fail("a transfer from rank " + std::to_string(transfer.from) + " to rank " +
                    std::to_string(transfer.to) + " has other bytes at its ends");
      }
      std::copy_n(ranks_[At(transfer.from)].staging.begin() + source.offset, source.bytes.size(),
                  ranks_[At(transfer.to)].staging.begin() + destination.offset);
    }
  }

  void Unpack(std::size_t r, RoundIndex round) {
    RankState& rank = ranks_[r];
    const RankSchedule& schedule = plan_.schedules[r];
    for (std::size_t s = 0; s < schedule.slots.size(); ++s) {
      const Slot& slot = schedule.slots[s];
      if (slot.kind != SlotKind::kReceive) continue;
      const auto places = Places(r, static_cast<SlotIndex>(s), round);
      for (std::size_t i = 0; i < places.size() && fault_.empty(); ++i) {
        if (!slot.items[i].unpack) continue;
        const Column& column = plan_.columns[At(slot.items[i].column)];
        for (std::int64_t b = places[i].bytes.begin; b < places[i].bytes.end; ++b) {
          Write(r, column.demand_class, b,
                rank.staging.at(At(places[i].offset + b - places[i].bytes.begin)));
        }
      }
    }
    for (const LocalMove& move : schedule.local_moves) {
      const Column& column = plan_.columns[At(move.column)];
      const ByteRange bytes =
          ChunkRange(column, plan_.profiles[At(column.profile)], round - move.first_round);
      const std::vector<Address>& stream =
          StreamsOf(plan_.job.ranks[r].source_layout, column.demand_class).front();
      for (std::int64_t b = bytes.begin; b < bytes.end && fault_.empty(); ++b) {
        const Address& address = stream.at(At(b));
        Write(r, column.demand_class, b,
              rank.buffers[At(rank.source_buffer.at(At(address.parameter)))].at(At(address.byte)));
      }
    }
    if (round != schedule.zero_round) return;
    const auto& zeros = StreamsOf(plan_.job.ranks[r].destination_layout, kZeroClass);
    for (std::size_t b = 0; b < zeros.front().size(); ++b) {
      Write(r, kZeroClass, static_cast<std::int64_t>(b), kZero);
    }
  }

  void Write(std::size_t r, ClassIndex c, std::int64_t byte, Token token) {
    const auto& streams = StreamsOf(plan_.job.ranks[r].destination_layout, c);
    if (!fault_.empty()) return;
    RankState& rank = ranks_[r];
    for (const std::vector<Address>& stream : streams) {
      const Address& address = stream.at(At(byte));
      rank.buffers[At(rank.destination_buffer.at(At(address.parameter)))].at(At(address.byte)) =
          token;
    }
  }

  void CheckFinished() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (const RoundIndex done : ranks_[r].done) {
        if (done < plan_.round_count) {
          return Fail("deadlock: rank " + std::to_string(r) + " stands at round " +
                      std::to_string(done));
        }
      }
    }
  }

  // Zeros of the random jobs are runs of elements.
  static void PaintZeros(const RankLayout& layout, const Region& region, const RankState& rank,
                         std::vector<std::vector<Token>>& expected) {
    const std::int64_t bytes = ElementBytes(layout.parameters[At(region.parameter)].dtype);
    const std::int64_t count = region.extent.empty() ? 1 : region.extent[0];
    std::vector<Token>& buffer = expected[At(rank.destination_buffer[At(region.parameter)])];
    for (std::int64_t b = 0; b < count * bytes; ++b) {
      buffer.at(At(region.offset * bytes + b)) = kZero;
    }
  }

  void CheckContents(std::size_t r) {
    RankState& rank = ranks_[r];
    std::vector<std::vector<Token>> expected = std::move(rank.before);
    if (const RankLayout* destination = LayoutOf(r, true); destination != nullptr) {
      for (std::int64_t i = 0; i < destination->regions.size(); ++i) {
        const Region region = destination->regions[i];
        PaintRegion(region, expected[At(rank.destination_buffer[At(region.parameter)])]);
      }
      for (std::int64_t i = 0; i < destination->zeros.size(); ++i) {
        PaintZeros(*destination, destination->zeros[i], rank, expected);
      }
    }
    for (std::size_t b = 0; b < expected.size(); ++b) {
      const auto [wrong, right] = std::ranges::mismatch(rank.buffers[b], expected[b]);
      if (right == expected[b].end()) continue;
      return Fail("rank " + std::to_string(r) + ", buffer " + std::to_string(b) + ", byte " +
                  std::to_string(right - expected[b].begin()) +
                  (*right == kPoison   ? " was touched"
                   : *wrong == kPoison ? " was not written"
                                       : " has other contents"));
    }
  }

  const Plan& plan_;
  RandomDraws draws_;
  std::vector<RankState> ranks_;
  std::map<std::pair<LayoutIndex, ClassIndex>, std::vector<std::vector<Address>>> streams_;
  std::vector<std::vector<const Transfer*>> of_round_;
  std::vector<std::vector<bool>> made_;
  std::string fault_;
};

}  // namespace

std::string ExecutePlan(const Plan& plan, std::uint64_t seed) {
  return PlanExecution(plan, seed).Run();
}

}  // namespace reshard
