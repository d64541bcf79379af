#include "compiler/baselines/broadcast_planner.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "compiler/baselines/piece_flows.h"
#include "compiler/baselines/tensor_placements.h"
#include "compiler/baselines/traffic_builder.h"
#include "compiler/baselines/written_job.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

constexpr std::int64_t kBucketBytes = std::int64_t{1} << 30;
// NCCL passes a ring's bytes on in steps of this over NVLink (field notes, section 2).
constexpr std::int64_t kStepBytes = std::int64_t{512} << 10;

// One gather: what each rank brings to it of the tensors of one name pattern.
using Contributions = std::map<RankIndex, std::int64_t>;

struct Stage {
  RankIndex root = kNoRank;
  std::int64_t bytes = 0;  // of its tensors, each once
  std::map<std::string, Contributions> gathers;
};

class BroadcastTraffic {
 public:
  BroadcastTraffic(const Plan& plan, const WrittenSide& source)
      : plan_(plan),
        source_(source),
        stages_(static_cast<std::size_t>(source.stages)),
        needed_(plan.job.ranks.size()),
        staging_(plan.job.ranks.size()) {
    for (std::size_t rank = 0; rank < plan.job.ranks.size(); ++rank) {
      const Rank& record = plan.job.ranks[rank];
      const auto index = static_cast<RankIndex>(rank);
      if (record.destination_layout != kNoLayout) destinations_.push_back(index);
      if (record.source_layout == kNoLayout) continue;
      Stage& stage = StageOf(index);
      if (stage.root == kNoRank) stage.root = index;
    }
  }

  void Add(const PlacedTensors& placed) {
    const std::int64_t scale = placed.element_bytes * placed.count();
    // A rank that holds the whole tensor gives it; else each byte comes from the first shard that
    // has it. Of a shard's replicas the first one gives.
    Shard whole{{TensorBox{std::vector<std::int64_t>(placed.shape.size(), 0), placed.shape}}, {}};
    if (whole.Elements() == 0) return;
    Stage& stage = StageOf(placed.sources.front().ranks.front());
    Contributions& gather = stage.gathers[placed.pattern];
    for (const ShardPiece& piece : PiecesOf(placed, whole, stage.root)) {
      const std::vector<RankIndex>& replicas = placed.sources[piece.source].ranks;
      const bool root = std::ranges::binary_search(replicas, stage.root);
      gather[root ? stage.root : replicas.front()] += piece.Elements() * scale;
      stage.bytes += piece.Elements() * scale;
    }
    const auto number = static_cast<std::size_t>(&stage - stages_.data());
    for (const Shard& destination : placed.destinations) {
      for (const RankIndex rank : destination.ranks) {
        std::vector<std::int64_t>& needed = needed_[static_cast<std::size_t>(rank)];
        needed.resize(stages_.size());
        needed[number] += destination.Elements() * scale;
      }
    }
  }

  Traffic Take() {
    Traffic traffic;
    TrafficStream stream{"all stages", {}};
    for (std::size_t number = 0; number < stages_.size(); ++number) {
      if (stages_[number].bytes == 0) continue;
      AddGather(stages_[number], stream);
      AddBroadcast(number, stream);
    }
    traffic.streams.push_back(std::move(stream));
    traffic.staging_bytes = staging_.peaks();
    CoverageBuilder(plan_.job).Finish(plan_.demand, traffic);
    return traffic;
  }

 private:
  Stage& StageOf(RankIndex rank) {
    return stages_[static_cast<std::size_t>(source_.places[static_cast<std::size_t>(rank)].stage)];
  }

  static std::int64_t BucketsOf(const Stage& stage) {
    return CeilDivide(stage.bytes, kBucketBytes);
  }

  void AddGather(const Stage& stage, TrafficStream& stream) {
    PhaseBuilder builder;
    const std::int64_t buckets = BucketsOf(stage);
    for (const auto& [pattern, gather] : stage.gathers) {
      Contributions ring = gather;
      ring.try_emplace(stage.root, 0);
      std::int64_t total = 0;
      for (const auto& [rank, bytes] : ring) total += bytes;
      for (auto at = ring.begin(); at != ring.end(); ++at) {
        const auto next = std::next(at) == ring.end() ? ring.begin() : std::next(at);
        builder.AddFlow(at->first, next->first, CeilDivide(total - next->second, buckets), 1);
      }
      for (const auto& [rank, bytes] : ring) {
        staging_.AtLeast(rank, std::min(kBucketBytes, stage.bytes));
      }
    }
    TrafficPhase phase;
    phase.repeats = buckets;
    phase.host_synchronizations = 0;
    builder.MoveInto(phase);
    if (!phase.flows.empty()) stream.phases.push_back(std::move(phase));
  }

  void AddBroadcast(std::size_t number, TrafficStream& stream) {
    const Stage& stage = stages_[number];
    const std::int64_t buckets = BucketsOf(stage);
    PhaseBuilder builder;
    RankIndex last = stage.root;
    std::int32_t hop = 0;
    for (const RankIndex rank : destinations_) {
      if (rank != stage.root) {
        builder.AddFlow(last, rank, CeilDivide(stage.bytes, buckets), 1, hop++);
        last = rank;
      }
      const std::vector<std::int64_t>& needed = needed_[static_cast<std::size_t>(rank)];
      if (needed.empty()) continue;
      builder.AddUnpack(rank, CeilDivide(needed[number], buckets));
      staging_.AtLeast(rank, std::min(kBucketBytes, stage.bytes));
    }
    TrafficPhase& phase = stream.phases.emplace_back();
    phase.repeats = buckets;
    phase.host_synchronizations = 1;
    phase.chunk_bytes = kStepBytes;
    builder.MoveInto(phase);
  }

  const Plan& plan_;
  const WrittenSide& source_;
  std::vector<Stage> stages_;
  std::vector<RankIndex> destinations_;
  std::vector<std::vector<std::int64_t>> needed_;  // bytes by rank and stage
  StagingMeter staging_;
};

}  // namespace

Result<void> BroadcastPlanner::MakeSchedule(const Job& job, const CostModel& /*cost_model*/,
                                            Plan& plan) const {
  const Result<WrittenSide> source = ReadWrittenSide(job, "source");
  if (!source) return tl::unexpected(source.error());
  BroadcastTraffic traffic(plan, *source);
  for (const PlacedTensors& placed : PlaceTensors(plan.job)) traffic.Add(placed);
  SetTraffic(traffic.Take(), plan);
  return {};
}

}  // namespace reshard
