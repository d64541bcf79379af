#include "compiler/baselines/m2n_planner.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/baselines/even_cut.h"
#include "compiler/baselines/expert_stacks.h"
#include "compiler/baselines/m2n_rings.h"
#include "compiler/baselines/piece_flows.h"
#include "compiler/baselines/tensor_placements.h"
#include "compiler/baselines/traffic_builder.h"
#include "compiler/baselines/written_job.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// Field notes, section 5, "Limits".
constexpr std::size_t kMostDims = 3;
constexpr std::size_t kMostSourceShards = 16;
constexpr std::size_t kMostDestinationShards = 64;

// The ranks of `shards` that are of `stage`; shards without one are left out.
std::vector<Shard> OfStage(const std::vector<Shard>& shards, const WrittenSide& side,
                           std::int64_t stage) {
  std::vector<Shard> of_stage;
  for (const Shard& shard : shards) {
    Shard kept{shard.boxes, {}};
    for (const RankIndex rank : shard.ranks) {
      if (side.places[static_cast<std::size_t>(rank)].stage == stage) kept.ranks.push_back(rank);
    }
    if (!kept.ranks.empty()) of_stage.push_back(std::move(kept));
  }
  return of_stage;
}

std::vector<RankIndex> RanksOf(const std::vector<Shard>& shards) {
  std::vector<RankIndex> ranks;
  for (const Shard& shard : shards) {
    ranks.insert(ranks.end(), shard.ranks.begin(), shard.ranks.end());
  }
  std::ranges::sort(ranks);
  return ranks;
}

// How the ranks of `shards`, in order, are a mesh of shards and replicas.
enum class MeshOrder : std::uint8_t { kNone, kReplicasInner, kReplicasOuter };

MeshOrder OrderOf(const std::vector<Shard>& shards, std::span<const RankIndex> ranks) {
  const std::size_t replicas = shards.front().ranks.size();
  if (!std::ranges::all_of(shards,
                           [&](const Shard& shard) { return shard.ranks.size() == replicas; })) {
    return MeshOrder::kNone;
  }
  bool inner = true;
  bool outer = true;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    for (std::size_t r = 0; r < replicas; ++r) {
      inner = inner && ranks[s * replicas + r] == shards[s].ranks[r];
      outer = outer && ranks[r * shards.size() + s] == shards[s].ranks[r];
    }
  }
  if (outer) return MeshOrder::kReplicasOuter;
  return inner ? MeshOrder::kReplicasInner : MeshOrder::kNone;
}

// A tensor on one communicator.
struct M2nTensor {
  PlacedTensors placed;                                           // shards of the two stages alone
  std::vector<std::vector<ShardPiece>> pieces;                    // per destination shard
  std::vector<std::vector<std::vector<RankIndex>>> destinations;  // per shard and domain: replicas
  std::vector<M2nRing> rings;
};

// A leader passes strided pieces on in chunks of 256 KiB, one in each of 8 thread blocks at a time
// (CHUNK_SIZE_BYTES and DEFAULT_NUM_CTAS of nccl_m2n).
constexpr std::int64_t kStridedChunkBytes = 8 * (std::int64_t{256} << 10);

// Phases of a pattern in the making, summed over its tensors.
struct M2nPattern {
  // Per communicator: source stage and destination stage.
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> tensors;
  PhaseBuilder ring;      // the injection is hop 0
  std::int32_t hops = 0;  // of the longest ring
  PhaseBuilder stores;
  bool is_strided = true;  // each piece is several runs of bytes
  PhaseBuilder chunked;    // what both are then: a leader stores a chunk as soon as it has it
};

// Spreads what was summed up over `repeats`.
void SpreadPhase(std::int64_t repeats, TrafficPhase& phase) {
  phase.repeats = repeats;
  for (TrafficFlow& flow : phase.flows) {
    flow.bytes = CeilDivide(flow.bytes, repeats);
    flow.operations = CeilDivide(flow.operations, repeats);
  }
  for (TrafficCopy& copy : phase.copies) {
    copy.packed_bytes = CeilDivide(copy.packed_bytes, repeats);
    copy.unpacked_bytes = CeilDivide(copy.unpacked_bytes, repeats);
  }
}

// What a hop waits for: see the header.
std::int64_t ChunkOf(const TrafficPhase& phase, const M2nPattern& pattern) {
  const std::int64_t hops = pattern.hops;
  const auto communicators = static_cast<std::int64_t>(pattern.tensors.size());
  std::int64_t most = 0;
  for (const TrafficFlow& flow : phase.flows) {
    if (flow.hop > 0) most = std::max(most, flow.bytes);
  }
  if (most == 0) return 0;
  const std::int64_t of_one = CeilDivide(most, communicators);
  if (pattern.is_strided) return std::max<std::int64_t>(1, std::min(of_one, kStridedChunkBytes));
  return std::max<std::int64_t>(
      1, of_one * std::max<std::int64_t>(0, hops - communicators) / (hops - 1));
}

class M2nTraffic {
 public:
  M2nTraffic(const Plan& plan, const WrittenSide& source, const WrittenSide& destination)
      : plan_(plan), source_(source), destination_(destination), coverage_(plan.job) {}

  void Add(const StackedTensors& stack) {
    const PlacedTensors& whole = stack.placed;
    if (whole.sources.empty() || whole.destinations.empty()) return;
    const std::int64_t from = StageOf(whole.sources.front().ranks.front(), source_);
    std::map<std::int64_t, M2nTensor> by_stage;
    for (const RankIndex rank : RanksOf(whole.destinations)) {
      const std::int64_t to = StageOf(rank, destination_);
      if (by_stage.contains(to)) continue;
      auto tensor = Express(whole, from, to);
      if (!tensor) return coverage_.Omit(whole, tensor.error());
      by_stage.emplace(to, *std::move(tensor));
    }
    M2nPattern& pattern = patterns_[whole.pattern];
    for (const auto& [to, tensor] : by_stage) {
      pattern.tensors[{from, to}] += stack.stacks;
      for (std::size_t d = 0; d < tensor.pieces.size(); ++d) {
        for (const M2nRing& ring : tensor.rings) AddRing(tensor, d, ring, stack.stacks, pattern);
      }
    }
  }

  Traffic Take() {
    TrafficStream stream{"all communicators", {}};
    StagingMeter staging(plan_.job.ranks.size());
    for (auto& [name, pattern] : patterns_) AddPhases(pattern, stream, staging);
    return OneStream(std::move(stream), staging, coverage_, plan_);
  }

 private:
  static std::int64_t StageOf(RankIndex rank, const WrittenSide& side) {
    return side.places[static_cast<std::size_t>(rank)].stage;
  }

  // The tensor on one communicator; in words, why M2N does not take it.
  tl::expected<M2nTensor, std::string> Express(const PlacedTensors& whole, std::int64_t from,
                                               std::int64_t to) const {
    const auto no = [](std::string reason) { return tl::unexpected(std::move(reason)); };
    M2nTensor tensor{whole, {}, {}, {}};
    PlacedTensors& placed = tensor.placed;
    placed.sources = OfStage(whole.sources, source_, from);
    placed.destinations = OfStage(whole.destinations, destination_, to);
    if (whole.shape.empty() || whole.shape.size() > kMostDims) return no("not of 1 to 3 dims");
    const bool expert = IsExpert(whole.pattern);
    if (!expert && whole.pattern.ends_with("_scale_inv")) {
      TensorBox all{std::vector<std::int64_t>(whole.shape.size(), 0), whole.shape};
      placed.destinations = {{{std::move(all)}, RanksOf(placed.destinations)}};
    }
    const auto cut = FindEvenCut(placed, placed.sources);
    if (!cut) return no("on the source " + cut.error());
    if (expert && cut->dim.value_or(0) != 0) return no("on the source experts are cut themselves");
    const auto needed = FindEvenCut(placed, placed.destinations);
    if (!needed) return no("on the destination " + needed.error());
    const std::vector<RankIndex> ranks = RanksOf(placed.destinations);
    const MeshOrder order = OrderOf(placed.destinations, ranks);
    if (order == MeshOrder::kNone) return no("on the destination no mesh of shards and replicas");
    if (OrderOf(placed.sources, RanksOf(placed.sources)) == MeshOrder::kNone) {
      return no("on the source no mesh of shards and replicas");
    }
    if (auto reason = FindPieces(tensor); !reason.empty()) return no(std::move(reason));
    PlaceReplicas(ranks, tensor);
    const std::size_t replicas = placed.destinations.front().ranks.size();
    tensor.rings = FindM2nRings(
        {static_cast<std::int64_t>(placed.sources.front().ranks.size()),
         static_cast<std::int64_t>(replicas),
         static_cast<std::int64_t>(tensor.destinations.front().size()),
         order == MeshOrder::kReplicasInner && replicas > 1 && placed.destinations.size() > 1,
         static_cast<std::int64_t>(plan_.job.ranks.size())});
    return tensor;
  }

  // Empty, or which limit the pieces exceed.
  static std::string FindPieces(M2nTensor& tensor) {
    std::vector<std::size_t> met(tensor.placed.sources.size());
    for (const Shard& destination : tensor.placed.destinations) {
      tensor.pieces.push_back(PiecesOf(tensor.placed, destination));
      if (tensor.pieces.back().size() > kMostSourceShards) {
        return "more than 16 source shards for a destination shard";
      }
      for (const ShardPiece& piece : tensor.pieces.back()) {
        if (++met[piece.source] > kMostDestinationShards) {
          return "more than 64 destination shards for a source shard";
        }
      }
    }
    return {};
  }

  // M2N goes by numbers: D ranks in a row are a domain.
  void PlaceReplicas(std::span<const RankIndex> ranks, M2nTensor& tensor) const {
    std::map<std::int32_t, std::size_t> in_domain;
    std::size_t most = 1;
    for (const RankIndex rank : ranks) {
      most = std::max(most, ++in_domain[plan_.job.ranks[static_cast<std::size_t>(rank)].domain]);
    }
    const std::size_t domains = (ranks.size() + most - 1) / most;
    for (const Shard& shard : tensor.placed.destinations) {
      auto& replicas = tensor.destinations.emplace_back(domains);
      for (const RankIndex rank : shard.ranks) {
        const auto position = std::ranges::lower_bound(ranks, rank) - ranks.begin();
        replicas[static_cast<std::size_t>(position) / most].push_back(rank);
      }
    }
  }

  static void AddRing(const M2nTensor& tensor, std::size_t destination, const M2nRing& ring,
                      std::int64_t stacks, M2nPattern& pattern) {
    const std::vector<ShardPiece>& pieces = tensor.pieces[destination];
    for (std::size_t position = 0; position < pieces.size(); ++position) {
      const ShardPiece& piece = pieces[position];
      const std::int64_t bytes = piece.Elements() * tensor.placed.element_bytes * stacks;
      RankIndex last =
          tensor.placed.sources[piece.source].ranks[static_cast<std::size_t>(ring.source_replica)];
      pattern.is_strided = pattern.is_strided && (piece.packs || piece.unpacks);
      std::int32_t hop = 0;
      for (const std::int64_t domain : ring.domains) {
        const std::vector<RankIndex>& replicas =
            tensor.destinations[destination][static_cast<std::size_t>(domain)];
        if (replicas.empty()) continue;
        const RankIndex leader = replicas[static_cast<std::size_t>(
            PartOf(static_cast<std::int64_t>(position), static_cast<std::int64_t>(pieces.size()),
                   static_cast<std::int64_t>(replicas.size())))];
        for (PhaseBuilder* injections : {&pattern.ring, &pattern.chunked}) {
          if (hop == 0) injections->AddPack(last, bytes);
          injections->AddFlow(last, leader, bytes, stacks, hop);
        }
        for (const RankIndex rank : replicas) {
          pattern.stores.AddFlow(leader, rank, bytes, stacks);
          pattern.stores.AddUnpack(rank, bytes);
          pattern.chunked.AddFlow(leader, rank, bytes, stacks, hop + 1);
          pattern.chunked.AddUnpack(rank, bytes);
        }
        last = leader;
        ++hop;
      }
      pattern.hops = std::max(pattern.hops, hop);
    }
  }

  static void AddPhases(M2nPattern& pattern, TrafficStream& stream, StagingMeter& staging) {
    std::int64_t repeats = 1;
    for (const auto& [communicator, tensors] : pattern.tensors) {
      repeats = std::max(repeats, tensors);
    }
    TrafficPhase& ring = stream.phases.emplace_back();
    ring.host_synchronizations = 1;
    ring.barriers = 2;
    ring.is_send_receive = false;
    (pattern.is_strided ? pattern.chunked : pattern.ring).MoveInto(ring);
    SpreadPhase(repeats, ring);
    ring.chunk_bytes = ChunkOf(ring, pattern);
    staging.AddPhase(ring);
    if (!pattern.is_strided) {
      TrafficPhase& stores = stream.phases.emplace_back();
      stores.launches = 0;
      stores.is_send_receive = false;
      pattern.stores.MoveInto(stores);
      SpreadPhase(repeats, stores);
      staging.AddPhase(stores);
    }
    TrafficPhase& synchronization = stream.phases.emplace_back();
    synchronization.launches = 0;
    synchronization.host_synchronizations = 1;
  }

  const Plan& plan_;
  const WrittenSide& source_;
  const WrittenSide& destination_;
  std::map<std::string, M2nPattern> patterns_;
  CoverageBuilder coverage_;
};

}  // namespace

Result<void> M2nPlanner::MakeSchedule(const Job& job, const CostModel& /*cost_model*/,
                                      Plan& plan) const {
  const Result<WrittenSide> source = ReadWrittenSide(job, "source");
  if (!source) return tl::unexpected(source.error());
  const Result<WrittenSide> destination = ReadWrittenSide(job, "destination");
  if (!destination) return tl::unexpected(destination.error());
  M2nTraffic traffic(plan, *source, *destination);
  for (const StackedTensors& stack : StackExperts(plan.job, PlaceTensors(plan.job))) {
    traffic.Add(stack);
  }
  SetTraffic(traffic.Take(), plan);
  return {};
}

}  // namespace reshard
