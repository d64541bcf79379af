#include "compiler/baselines/alpa_planner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "compiler/baselines/alpa_rounds.h"
#include "compiler/baselines/traffic_builder.h"

namespace reshard {
namespace {

// The worker of each rank: GPUs that share their first NIC are one.
struct Workers {
  std::vector<std::int32_t> of_rank;
  std::int32_t count = 0;
};

Workers FindWorkers(const JobRecords& records, const Cluster& cluster) {
  Workers workers;
  std::map<NicIndex, std::int32_t> by_nic;
  for (const Rank& rank : records.ranks) {
    const std::vector<NicIndex>& nics = cluster.gpus[static_cast<std::size_t>(rank.gpu)].nics;
    const auto known = nics.empty() ? by_nic.end() : by_nic.find(nics.front());
    if (known != by_nic.end()) {
      workers.of_rank.push_back(known->second);
      continue;
    }
    if (!nics.empty()) by_nic.emplace(nics.front(), workers.count);
    workers.of_rank.push_back(workers.count++);
  }
  return workers;
}

std::vector<std::int32_t> Distinct(std::vector<std::int32_t> workers) {
  std::ranges::sort(workers);
  const auto rest = std::ranges::unique(workers);
  workers.erase(rest.begin(), rest.end());
  return workers;
}

class AlpaTraffic {
 public:
  AlpaTraffic(const Plan& plan, const Cluster& cluster)
      : plan_(plan), workers_(FindWorkers(plan.job, cluster)), staging_(plan.job.ranks.size()) {}

  Traffic Make() {
    AddWorks();
    TrafficStream stream{"all", {}};
    if (!local_.empty()) local_.MoveInto(stream.phases.emplace_back());
    for (const auto& round : OrderAlpaRounds(works_, workers_.count)) {
      PhaseBuilder builder;
      for (const AlpaTask& task : round) AddBroadcast(task, builder);
      TrafficPhase& phase = stream.phases.emplace_back();
      phase.is_send_receive = false;
      phase.chunk_bytes = kRingStepBytes;
      builder.MoveInto(phase);
    }
    return OneStream(std::move(stream), staging_, CoverageBuilder(plan_.job), plan_);
  }

 private:
  std::int32_t WorkerOf(RankIndex rank) const {
    return workers_.of_rank[static_cast<std::size_t>(rank)];
  }

  std::vector<RankIndex> ReceiversOf(const DemandClass& demand_class) const {
    std::vector<RankIndex> receivers;
    std::ranges::set_difference(plan_.demand.Needers(demand_class),
                                plan_.demand.Holders(demand_class), std::back_inserter(receivers));
    return receivers;
  }

  void AddWorks() {
    for (std::size_t c = 0; c < plan_.demand.classes.size(); ++c) {
      const DemandClass& demand_class = plan_.demand.classes[c];
      const std::span<const RankIndex> holders = plan_.demand.Holders(demand_class);
      for (const RankIndex rank : plan_.demand.Needers(demand_class)) {
        if (std::ranges::binary_search(holders, rank)) local_.AddUnpack(rank, demand_class.bytes);
      }
      AlpaWork work;
      for (const RankIndex rank : holders) work.senders.push_back(WorkerOf(rank));
      for (const RankIndex rank : ReceiversOf(demand_class)) {
        work.receivers.push_back(WorkerOf(rank));
      }
      if (work.receivers.empty()) continue;
      work.senders = Distinct(std::move(work.senders));
      work.receivers = Distinct(std::move(work.receivers));
      work.bytes = demand_class.bytes;
      works_.push_back(std::move(work));
      classes_.push_back(c);
    }
  }

  void AddBroadcast(const AlpaTask& task, PhaseBuilder& builder) {
    const DemandClass& demand_class = plan_.demand.classes[classes_[task.work]];
    const std::span<const RankIndex> holders = plan_.demand.Holders(demand_class);
    const RankIndex sender = *std::ranges::find_if(
        holders, [&](RankIndex rank) { return WorkerOf(rank) == task.sender; });
    // Equal works are done tensor by tensor: no more than the largest fragment is in flight.
    std::int64_t largest = 0;
    for (std::int64_t i = 0; i < demand_class.fragment_count; ++i) {
      largest = std::max(largest, plan_.demand.fragments[demand_class.first_fragment + i].bytes);
    }
    builder.AddPack(sender, demand_class.bytes);
    staging_.AtLeast(sender, largest);
    RankIndex last = sender;
    std::int32_t hop = 0;
    for (const RankIndex rank : ReceiversOf(demand_class)) {
      builder.AddFlow(last, rank, demand_class.bytes, demand_class.fragment_count, hop++);
      builder.AddUnpack(rank, demand_class.bytes);
      staging_.AtLeast(rank, largest);
      last = rank;
    }
  }

  const Plan& plan_;
  Workers workers_;
  std::vector<AlpaWork> works_;
  std::vector<std::size_t> classes_;  // of each work
  PhaseBuilder local_;                // what ranks hold and need themselves
  StagingMeter staging_;
};

}  // namespace

Result<void> AlpaPlanner::MakeSchedule(const Job& job, const CostModel& /*cost_model*/,
                                       Plan& plan) const {
  SetTraffic(AlpaTraffic(plan, job.cluster).Make(), plan);
  return {};
}

}  // namespace reshard
