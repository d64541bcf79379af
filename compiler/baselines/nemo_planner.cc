#include "compiler/baselines/nemo_planner.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/baselines/expert_stacks.h"
#include "compiler/baselines/packed_broadcast.h"
#include "compiler/baselines/piece_flows.h"
#include "compiler/baselines/tensor_placements.h"
#include "compiler/baselines/traffic_builder.h"
#include "compiler/baselines/written_job.h"

namespace reshard {
namespace {

// NRL_REFIT_NUM_STREAMS, by default.
constexpr std::size_t kBulkStreams = 2;

bool IsBulk(std::string_view pattern) {
  if (IsExpert(pattern)) return true;
  if (pattern.find("shared_expert") != std::string_view::npos) return false;
  constexpr std::array<std::string_view, 3> kProjections = {"gate_proj.weight", "up_proj.weight",
                                                            "down_proj.weight"};
  return std::ranges::any_of(kProjections,
                             [&](std::string_view end) { return pattern.ends_with(end); });
}

bool HasSeveralBoxes(const Shard& shard) { return shard.boxes.size() > 1; }

// What one tensor takes: transfers, then what the sets do among themselves.
struct NemoPhases {
  PhaseBuilder transfers;
  PhaseBuilder within_sets;
  bool is_chain = false;  // within sets, else a ring

  void AddTransfer(const ShardPiece& piece, const PlacedTensors& placed, RankIndex from,
                   RankIndex to) {
    const std::int64_t bytes = piece.Elements() * placed.element_bytes;
    transfers.AddFlow(from, to, bytes, 1);
    if (from == to || piece.unpacks) transfers.AddUnpack(to, bytes);
    if (from != to && piece.packs) transfers.AddPack(from, bytes);
  }
};

// Member `i` of a set's part of its region.
TensorBox StripeOf(const TensorBox& region, std::size_t members, std::size_t i) {
  TensorBox stripe = region;
  if (members == 1) return stripe;
  stripe.extent[0] /= static_cast<std::int64_t>(members);
  stripe.begin[0] += static_cast<std::int64_t>(i) * stripe.extent[0];
  return stripe;
}

bool SetsDivide(const PlacedTensors& placed) {
  bool several = false;
  for (const Shard& set : placed.destinations) {
    const auto size = static_cast<std::int64_t>(set.ranks.size());
    if (size == 1) continue;
    several = true;
    const TensorBox& region = set.boxes.front();
    if (region.extent.empty() || region.extent[0] % size != 0) return false;
  }
  return several;
}

// The phases of v2; none where it does not apply.
std::optional<NemoPhases> Stripe(const PlacedTensors& placed) {
  if (!SetsDivide(placed)) return std::nullopt;
  NemoPhases phases;
  std::vector<std::size_t> counters(placed.sources.size());
  for (const Shard& set : placed.destinations) {
    const TensorBox& region = set.boxes.front();
    const std::size_t members = set.ranks.size();
    for (std::size_t i = 0; i < members; ++i) {
      const RankIndex to = set.ranks[i];
      const TensorBox stripe = StripeOf(region, members, i);
      for (const ShardPiece& piece : PiecesOf(placed, Shard{{stripe}, {to}}, to)) {
        const std::vector<RankIndex>& holders = placed.sources[piece.source].ranks;
        const bool own = std::ranges::binary_search(holders, to);
        const RankIndex from = own ? to : holders[counters[piece.source]++ % holders.size()];
        // A stripe differs from its region in dim 0 only, so what is one run of it is one run
        // there.
        if (!own && piece.packs && piece.unpacks) return std::nullopt;
        phases.AddTransfer(piece, placed, from, to);
      }
      const std::int64_t others = (set.Elements() - stripe.Elements()) * placed.element_bytes;
      phases.within_sets.AddFlow(set.ranks[(i + members - 1) % members], to, others, 1);
    }
  }
  return phases;
}

// The phases of v1.
NemoPhases SendWhole(const PlacedTensors& placed) {
  NemoPhases phases;
  phases.is_chain = true;
  for (const Shard& set : placed.destinations) {
    const RankIndex first = set.ranks.front();
    for (const ShardPiece& piece : PiecesOf(placed, set, first)) {
      const std::vector<RankIndex>& holders = placed.sources[piece.source].ranks;
      const bool own = std::ranges::binary_search(holders, first);
      phases.AddTransfer(piece, placed, own ? first : holders.front(), first);
    }
    for (std::size_t i = 1; i < set.ranks.size(); ++i) {
      phases.within_sets.AddFlow(set.ranks[i - 1], set.ranks[i],
                                 set.Elements() * placed.element_bytes, 1,
                                 static_cast<std::int32_t>(i - 1));
    }
  }
  return phases;
}

class NemoTraffic {
 public:
  NemoTraffic(const Plan& plan, const WrittenSide& source)
      : plan_(plan),
        source_(source),
        rest_(plan, source),
        coverage_(plan.job),
        staging_(plan.job.ranks.size()) {}

  void Add(const StackedTensors& stack) {
    const PlacedTensors& placed = stack.placed;
    if (placed.sources.empty() || placed.destinations.empty()) return;
    if (!IsBulk(placed.pattern)) return rest_.Add(stack);
    if (std::ranges::any_of(placed.sources, HasSeveralBoxes)) {
      return coverage_.Omit(placed, "on the source a rank has several boxes of it");
    }
    if (std::ranges::any_of(placed.destinations, HasSeveralBoxes)) {
      return coverage_.Omit(placed, "on the destination a rank has several boxes of it");
    }
    std::optional<NemoPhases> striped = Stripe(placed);
    NemoPhases phases = striped ? *std::move(striped) : SendWhole(placed);
    TrafficStream& stream = StreamOf(placed.sources.front().ranks.front());
    AddPhase(stream, phases.transfers, stack.stacks, /*is_collective=*/false, /*is_chain=*/false,
             /*host_turns=*/1);
    AddPhase(stream, phases.within_sets, stack.stacks, /*is_collective=*/true, phases.is_chain,
             /*host_turns=*/0);
  }

  Traffic Take() {
    std::vector<TrafficStream> streams;
    for (TrafficStream& stream : bulk_) {
      if (!stream.phases.empty()) streams.push_back(std::move(stream));
    }
    rest_.AppendTo(streams, staging_);
    return OfStreams(std::move(streams), staging_, coverage_, plan_);
  }

 private:
  // The source's stages take turns at the streams, in the order in which their tensors come.
  TrafficStream& StreamOf(RankIndex source) {
    const std::int64_t stage = source_.places[static_cast<std::size_t>(source)].stage;
    return bulk_[stream_of_stage_.try_emplace(stage, stream_of_stage_.size() % bulk_.size())
                     .first->second];
  }

  void AddPhase(TrafficStream& stream, PhaseBuilder& builder, std::int64_t tensors,
                bool is_collective, bool is_chain, std::int64_t host_turns) {
    if (builder.empty()) return;
    TrafficPhase& phase = stream.phases.emplace_back();
    phase.repeats = tensors;
    phase.host_synchronizations = host_turns;
    phase.is_send_receive = !is_collective;
    phase.chunk_bytes = is_chain ? kRingStepBytes : 0;
    builder.MoveInto(phase);
    staging_.AddPhase(phase);
  }

  const Plan& plan_;
  const WrittenSide& source_;
  std::array<TrafficStream, kBulkStreams> bulk_{TrafficStream{"bulk, even stages", {}},
                                                TrafficStream{"bulk, odd stages", {}}};
  std::map<std::int64_t, std::size_t> stream_of_stage_;
  PackedBroadcast rest_;
  CoverageBuilder coverage_;
  StagingMeter staging_;
};

}  // namespace

Result<void> NemoPlanner::MakeSchedule(const Job& job, const CostModel& /*cost_model*/,
                                       Plan& plan) const {
  const Result<WrittenSide> source = ReadWrittenSide(job, "source");
  if (!source) return tl::unexpected(source.error());
  NemoTraffic traffic(plan, *source);
  for (const StackedTensors& stack : StackExperts(plan.job, PlaceTensors(plan.job))) {
    traffic.Add(stack);
  }
  SetTraffic(traffic.Take(), plan);
  return {};
}

}  // namespace reshard
