#include "simulator/replay_model.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "simulator/peer_channels.h"

namespace reshard {
namespace {

// Beyond this number the flows between domains would end at so many instants that solving for their
// rates anew at each takes minutes; some seconds with a tolerance.
constexpr std::size_t kManyTransfers = std::size_t{1} << 17;
constexpr double kToleranceOfMany = 0x1p-11;

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

// Lists each rank's transfers in `operations`, ascending.
void ListOperations(ReplayModel& model) {
  std::vector<std::int32_t> counts(model.ranks.size());
  for (const ModelTransfer& transfer : model.transfers) {
    ++counts[At(transfer.from)];
    ++counts[At(transfer.to)];
  }
  std::int64_t next = 0;
  for (std::size_t rank = 0; rank < model.ranks.size(); ++rank) {
    model.ranks[rank].first_operation = next;
    next += counts[rank];
  }
  model.operations.resize(static_cast<std::size_t>(next));
  for (std::size_t t = 0; t < model.transfers.size(); ++t) {
    for (const RankIndex end : {model.transfers[t].from, model.transfers[t].to}) {
      ModelRank& rank = model.ranks[At(end)];
      model.operations[static_cast<std::size_t>(rank.first_operation + rank.operation_count)] =
          static_cast<TransferIndex>(t);
      ++rank.operation_count;
    }
  }
}

// The segments of a rank's exchange lane: operations by round, cut wherever one's bytes change.
SegmentRange ExchangeSegments(const ModelRank& rank, ReplayModel& model,
                              std::vector<std::pair<RoundIndex, std::int32_t>>& changes) {
  changes.clear();
  for (const TransferIndex t : model.Operations(rank)) {
    std::int64_t before = 0;
    for (const Segment& segment : model.Of(model.transfers[At(t)].bytes)) {
      const std::int32_t delta = (segment.bytes > 0 ? 1 : 0) - (before > 0 ? 1 : 0);
      changes.emplace_back(segment.first_round, delta);
      before = segment.bytes;
    }
  }
  std::sort(changes.begin(), changes.end());
  SegmentRange range{static_cast<std::int64_t>(model.segments.size()), 0};
  std::int64_t operations = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const RoundIndex round = changes[i].first;
    for (; i < changes.size() && changes[i].first == round; ++i) operations += changes[i].second;
    model.segments.push_back({round, operations});
    ++range.count;
  }
  return range;
}

Result<void> AddTransfers(const Plan& plan, const Machine& machine, const Workload& workload,
                          ReplayModel& model) {
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const Transfer& transfer = plan.transfers[t];
    ModelTransfer& added = model.transfers.emplace_back();
    added.from = transfer.from;
    added.to = transfer.to;
    added.bytes = workload.transfers[t];
    if (added.bytes.count == 0) {  // carries nothing, so no way is needed either
      model.flows.Add({}, kUncapped);
      continue;
    }
    const Result<FlowPath> path = machine.PathBetween(plan.job.ranks[At(transfer.from)].gpu,
                                                      plan.job.ranks[At(transfer.to)].gpu);
    if (!path) return tl::unexpected(path.error());
    added.latency = path->latency;
    added.ll_latency = path->ll_latency;
    added.channel_gbps = path->channel_gbps;
    if (plan.job.ranks[At(transfer.from)].domain != plan.job.ranks[At(transfer.to)].domain) {
      model.ranks[At(transfer.from)].has_network = true;
      model.ranks[At(transfer.to)].has_network = true;
    }
    model.flows.Add(path->shares, path->cap_gbps);
  }
  return {};
}

// The rounds together last at least as long as the busiest resource. A chain of steps that wait for
// each other has no two exchanges of one round, so flows late by a part of a mean round's least
// time make the replay late by that part at most.
Result<void> TolerateLateEnds(ReplayModel& model) {
  const Result<std::vector<double>> bytes = BytesPerResource(model);
  if (!bytes) return tl::unexpected(bytes.error());
  double busiest_ns = 0;
  for (std::size_t resource = 0; resource < bytes->size(); ++resource) {
    if ((*bytes)[resource] == 0) continue;
    busiest_ns = std::max(busiest_ns, (*bytes)[resource] / model.capacities[resource]);
  }
  const double round_ns = busiest_ns / static_cast<double>(std::max(model.round_count, 1));
  model.tolerance = kToleranceOfMany;
  model.round_time = static_cast<Nanoseconds>(std::min(round_ns, static_cast<double>(kEndOfTime)));
  return {};
}

}  // namespace

Result<void> CheckRanks(const Plan& plan, const Cluster& cluster) {
  for (std::size_t rank = 0; rank < plan.job.ranks.size(); ++rank) {
    const std::int32_t gpu = plan.job.ranks[rank].gpu;
    const std::string place = "plan: rank " + std::to_string(rank);
    if (gpu < 0 || gpu >= static_cast<std::int64_t>(cluster.gpus.size())) {
      return InputError(place, "sits on GPU " + std::to_string(gpu) + ", the cluster has " +
                                   std::to_string(cluster.gpus.size()));
    }
    if (rank > 0 && gpu <= plan.job.ranks[rank - 1].gpu) {
      return InputError(place, "ranks do not ascend by GPU");
    }
    if (cluster.gpus[At(gpu)].dead) {
      return InputError("cluster: GPU " + std::to_string(gpu),
                        "is dead, but rank " + std::to_string(rank) + " sits on it",
                        "compile a plan without it");
    }
  }
  return {};
}

Result<std::vector<double>> BytesPerResource(const ReplayModel& model) {
  std::vector<double> bytes(model.capacities.size());
  const auto add = [&](FlowIndex flow, const SegmentRange& range) -> Result<void> {
    const Result<std::int64_t> total = TotalBytes(model.Of(range));
    if (!total) return tl::unexpected(total.error());
    for (const ResourceShare& use : model.flows.Shares(flow)) {
      bytes[At(use.resource)] += use.share * static_cast<double>(*total);
    }
    return {};
  };
  for (std::size_t t = 0; t < model.transfers.size(); ++t) {
    const Result<void> added = add(static_cast<FlowIndex>(t), model.transfers[t].bytes);
    if (!added) return tl::unexpected(added.error());
  }
  for (std::size_t index = 0; index < model.ranks.size(); ++index) {
    const auto rank = static_cast<RankIndex>(index);
    for (const Lane lane : {Lane::kPack, Lane::kUnpack}) {
      const Result<void> added =
          add(model.CopyFlow(rank, lane), model.ranks[index].lanes[static_cast<int>(lane)]);
      if (!added) return tl::unexpected(added.error());
    }
  }
  return bytes;
}

Result<ReplayModel> MakeReplayModel(const Plan& plan, const Cluster& cluster,
                                    const Machine& machine, const Constants& constants,
                                    Workload workload) {
  if (Result<void> ranks = CheckRanks(plan, cluster); !ranks) {
    return tl::unexpected(ranks.error());
  }
  ReplayModel model;
  model.segments = std::move(workload.segments);
  model.capacities.assign(machine.capacities().begin(), machine.capacities().end());
  model.launch = NanosecondsOf(constants.kernel_launch_us);
  model.group = NanosecondsOf(constants.group_us);
  model.batch = NanosecondsOf(constants.batch_us);
  model.host_node = NanosecondsOf(constants.host_node_us);
  model.messages = MessageRules(plan, constants, machine.channels_per_peer());
  model.operations_together = OperationsTogether(machine.channels_per_peer(), constants);

  model.ranks.resize(plan.job.ranks.size());
  if (Result<void> added = AddTransfers(plan, machine, workload, model); !added) {
    return tl::unexpected(added.error());
  }
  ListOperations(model);
  std::vector<std::pair<RoundIndex, std::int32_t>> changes;
  for (std::size_t index = 0; index < model.ranks.size(); ++index) {
    ModelRank& rank = model.ranks[index];
    rank.lanes[static_cast<int>(Lane::kPack)] = workload.pack[index];
    rank.lanes[static_cast<int>(Lane::kExchange)] = ExchangeSegments(rank, model, changes);
    rank.lanes[static_cast<int>(Lane::kUnpack)] = workload.unpack[index];
    rank.first_wait = static_cast<std::int64_t>(model.waits.size());
    const std::vector<Wait>& waits = plan.schedules[index].waits;
    model.waits.insert(model.waits.end(), waits.begin(), waits.end());
    rank.wait_count = static_cast<std::int32_t>(waits.size());
    for (const SegmentRange& lane : rank.lanes) {
      const std::span<const Segment> segments = model.Of(lane);
      if (!segments.empty()) {
        model.round_count = std::max(model.round_count, segments.back().first_round);
      }
    }
    const bool copies = workload.pack[index].count + workload.unpack[index].count > 0;
    const Result<FlowPath> path =
        copies ? machine.CopyPath(plan.job.ranks[index].gpu) : Result<FlowPath>(FlowPath{});
    if (!path) return tl::unexpected(path.error());
    for (int lane = 0; lane < 2; ++lane) model.flows.Add(path->shares, path->cap_gbps);
  }
  if (model.transfers.size() > kManyTransfers) {
    if (Result<void> set = TolerateLateEnds(model); !set) return tl::unexpected(set.error());
  }
  return model;
}

}  // namespace reshard
