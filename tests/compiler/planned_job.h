// The stages up to a schedule, for tests that look at one of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/bounds/bounds.h"
#include "compiler/bounds/rank_resources.h"
#include "compiler/demand/demand_builder.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/domain_assignment.h"
#include "compiler/planning/optimal_planner.h"
#include "compiler/planning/rounds.h"
#include "compiler/planning/routes.h"
#include "compiler/planning/senders.h"
#include "schedules/cost_model.h"
#include "tests/compiler/random_job.h"
#include "topology/cluster.h"

namespace reshard {

// A cost by counting: rounds, and the bytes of the fullest rank. Needs no simulator, and prefers
// many or few rounds as `round_seconds` says.
class CountingCostModel final : public CostModel {
 public:
  explicit CountingCostModel(double round_seconds) : round_seconds_(round_seconds) {}
  Result<double> PredictSeconds(const Plan& plan) const override {
    std::int64_t fullest = 0;
    for (const RankSchedule& schedule : plan.schedules) {
      std::int64_t bytes = 0;
      for (const Slot& slot : schedule.slots) bytes += slot.capacity;
      fullest = std::max(fullest, bytes);
    }
    return static_cast<double>(plan.round_count) * round_seconds_ +
           static_cast<double>(fullest) * 1e-9;
  }
  ChannelFacts Channels() const override { return {13.5, 32, 8}; }
  std::string ConstantsDigest() const override { return "counting"; }

 private:
  double round_seconds_;
};

// A plan up to its programs, before any planner has seen it.
inline Result<Plan> MakeUnplanned(const JobRecords& job) {
  Plan plan;
  plan.job = job;
  Result<Demand> demand = BuildDemand(job);
  if (!demand) return tl::unexpected(demand.error());
  plan.demand = *std::move(demand);
  plan.programs = BuildPrograms(job, plan.demand);
  return plan;
}

inline Result<Plan> MakePlan(const JobRecords& job, const Cluster& cluster,
                             const CostModel& cost_model) {
  Result<Plan> plan = MakeUnplanned(job);
  if (!plan) return plan;
  Job whole;
  whole.cluster = cluster;
  whole.records = job;
  Result<void> made = OptimalPlanner().MakeSchedule(whole, cost_model, *plan);
  if (!made) return tl::unexpected(made.error());
  return plan;
}

// Everything the planner works out before it cuts time into rounds.
struct Stages {
  Plan plan;  // unplanned
  RankResources resources;
  Deliveries deliveries;
  std::optional<DomainAssignment> domains;
  double bound_seconds = 0;
  std::vector<std::vector<Piece>> pieces;
  Routes routes;
  Phases phases;
};

inline Stages MakeStages(const JobRecords& job, const Cluster& cluster) {
  Stages stages;
  stages.plan = MakeUnplanned(job).value();
  stages.resources = MakeRankResources(job, cluster).value();
  stages.deliveries =
      FindDeliveries(job, stages.plan.demand, stages.plan.programs, stages.resources);
  stages.domains = AssignDomains(stages.deliveries, stages.plan.demand, stages.resources);
  const DomainAssignment* domains = stages.domains ? &*stages.domains : nullptr;
  stages.bound_seconds = LowerBound(job, stages.plan.demand, cluster, stages.resources,
                                    domains != nullptr ? &domains->weights : nullptr)
                             .seconds;
  stages.pieces = AssignSenders(stages.plan.demand, stages.deliveries, stages.resources,
                                stages.bound_seconds, domains);
  stages.routes =
      MakeRoutes(stages.deliveries, stages.pieces, stages.resources, stages.bound_seconds, domains);
  stages.phases =
      MakePhases(stages.deliveries, stages.routes, stages.resources, stages.bound_seconds);
  return stages;
}

}  // namespace reshard
