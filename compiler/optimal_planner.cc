#include "compiler/optimal_planner.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "compiler/bounds.h"
#include "compiler/delivery_groups.h"
#include "compiler/domain_assignment.h"
#include "compiler/lowering.h"
#include "compiler/rank_resources.h"
#include "compiler/rounds.h"
#include "compiler/routes.h"
#include "compiler/senders.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

constexpr std::int32_t kMaxFullRounds = 4096;
constexpr std::int32_t kTailHalvings = 4;

// The search for the shape of rounds: few and long ones cost little overhead and much staging and
// tail, many short ones the reverse. The predicted time has one valley between, so the search walks
// down it.
class ShapeSearch {
 public:
  ShapeSearch(const CostModel& cost_model, const Deliveries& deliveries, const Routes& routes,
              const Phases& phases, std::int64_t peak_bytes, Plan& plan)
      : cost_model_(cost_model),
        deliveries_(deliveries),
        routes_(routes),
        phases_(phases),
        peak_bytes_(peak_bytes),
        plan_(plan) {}

  Result<void> Run() {
    Result<std::int32_t> least = LeastFullRounds();
    if (!least) return tl::unexpected(least.error());
    if (Result<void> tried = WalkFullRounds(*least); !tried) return tried;
    if (Result<void> tried = WalkHalvings(); !tried) return tried;
    Lower(best_);
    return {};
  }

 private:
  // Small phases take as many rounds as keep theirs no longer than the last phase's.
  std::vector<RoundShape> Shapes(RoundShape last) const {
    std::vector<RoundShape> shapes;
    const std::int64_t total = std::max<std::int64_t>(1, phases_.bytes.back());
    for (const std::int64_t bytes : phases_.bytes) {
      const double rounds = static_cast<double>(bytes) / static_cast<double>(total) *
                            static_cast<double>(last.full + 1);
      shapes.push_back({std::max(1, static_cast<std::int32_t>(rounds + 0.999)), 0});
    }
    shapes.back() = last;
    return shapes;
  }

  void Lower(RoundShape shape) { LowerRoutes(deliveries_, routes_, phases_, Shapes(shape), plan_); }

  // The fewest full rounds whose chunks fit the staging and the chunk ceiling.
  Result<std::int32_t> LeastFullRounds() {
    const Options& options = plan_.job.options;
    std::int64_t full = 1;
    if (options.chunk_bytes > 0) {
      full = std::max(full, CeilDivide(peak_bytes_, options.chunk_bytes) - 1);
    }
    while (true) {
      if (full > kMaxFullRounds) {
        return InputError("options.stagingMiB",
                          "the refit needs more staging than " +
                              std::to_string(options.staging_bytes >> 20) + " MiB on some rank",
                          "raise options.stagingMiB");
      }
      Lower({static_cast<std::int32_t>(full), kTailHalvings});
      const std::int64_t staging = StagingBytesMax(plan_);
      if (staging <= options.staging_bytes) return static_cast<std::int32_t>(full);
      const double excess = static_cast<double>(staging) /
                            static_cast<double>(std::max<std::int64_t>(1, options.staging_bytes));
      full = std::max(full + 1, static_cast<std::int64_t>(static_cast<double>(full + 1) * excess));
    }
  }

  // True if it is the best so far.
  Result<bool> Try(RoundShape shape) {
    Lower(shape);
    if (StagingBytesMax(plan_) > plan_.job.options.staging_bytes) return false;
    Result<double> seconds = cost_model_.PredictSeconds(plan_);
    if (!seconds) return tl::unexpected(seconds.error());
    if (tried_ && *seconds >= best_seconds_) return false;
    tried_ = true;
    best_ = shape;
    best_seconds_ = *seconds;
    return true;
  }

  Result<void> WalkFullRounds(std::int32_t least) {
    std::int32_t worse = 0;
    for (std::int32_t full = least; full <= kMaxFullRounds && worse < 2;
         full = std::max(full + 1, full * 3 / 2)) {
      Result<bool> better = Try({full, kTailHalvings});
      if (!better) return tl::unexpected(better.error());
      worse = *better ? 0 : worse + 1;
    }
    return {};
  }

  Result<void> WalkHalvings() {
    for (const std::int32_t step : {-1, +1}) {
      while (true) {
        const RoundShape next{best_.full, best_.halvings + step};
        if (next.halvings < 0 || next.halvings > 8) break;
        Result<bool> better = Try(next);
        if (!better) return tl::unexpected(better.error());
        if (!*better) break;
      }
    }
    return {};
  }

  const CostModel& cost_model_;
  const Deliveries& deliveries_;
  const Routes& routes_;
  const Phases& phases_;
  std::int64_t peak_bytes_;
  Plan& plan_;
  bool tried_ = false;
  RoundShape best_;
  double best_seconds_ = 0;
};

// The most bytes any rank's NICs carry one way.
std::int64_t PeakNetworkBytes(const Routes& routes, const RankResources& resources) {
  std::vector<std::int64_t> in(resources.domain.size(), 0);
  std::vector<std::int64_t> out(resources.domain.size(), 0);
  for (const RoutedColumn& column : routes.columns) {
    for (const PathHop& hop : routes.paths[static_cast<std::size_t>(column.path)].hops) {
      const RankIndex from = hop.parent == kFromSender ? column.exit : hop.from;
      if (resources.domain[static_cast<std::size_t>(from)] ==
          resources.domain[static_cast<std::size_t>(hop.to)]) {
        continue;
      }
      out[static_cast<std::size_t>(from)] += column.end - column.begin;
      in[static_cast<std::size_t>(hop.to)] += column.end - column.begin;
    }
  }
  std::int64_t peak = 0;
  for (const std::int64_t bytes : in) peak = std::max(peak, bytes);
  for (const std::int64_t bytes : out) peak = std::max(peak, bytes);
  return peak;
}

// Every group must be able to move at all.
Result<void> CheckReachable(const Deliveries& deliveries, const RankResources& resources) {
  const auto domain_rate = [&](DomainIndex d) {
    return resources.domains[static_cast<std::size_t>(d)].network_gbps;
  };
  const auto refuse = [](std::string place, const char* reason) {
    return InputError(std::move(place), reason, "give it bandwidth, or leave it out of the job");
  };
  for (const DeliveryGroup& group : deliveries.groups) {
    for (const GroupDomain& domain : group.domains) {
      if (!group.local && domain_rate(domain.domain) <= 0) {
        return refuse("domain " + std::to_string(domain.domain),
                      "bytes must enter it and none of its NICs has any bandwidth");
      }
      const bool wants_nvlink = group.local || domain.receivers.size() > 1;
      for (const RankIndex r : domain.receivers) {
        if (wants_nvlink && resources.nvlink_gbps[static_cast<std::size_t>(r)] <= 0) {
          return refuse("rank " + std::to_string(r),
                        "bytes must come to it over NVLink and it has no NVLink bandwidth");
        }
      }
    }
    for (const GroupClass& c : group.classes) {
      const bool able = std::ranges::any_of(c.holders, [&](RankIndex h) {
        return group.local ? resources.nvlink_gbps[static_cast<std::size_t>(h)] > 0
                           : domain_rate(resources.domain[static_cast<std::size_t>(h)]) > 0;
      });
      if (!able) {
        return refuse("rank " + std::to_string(c.holders[0]),
                      "bytes only its domain holds must leave it and no link there has bandwidth");
      }
    }
  }
  return {};
}

}  // namespace

Result<void> OptimalPlanner::MakeSchedule(const Job& job, const CostModel& cost_model,
                                          Plan& plan) const {
  Result<RankResources> resources = MakeRankResources(plan.job, job.cluster);
  if (!resources) return tl::unexpected(resources.error());
  const Deliveries deliveries = FindDeliveries(plan.job, plan.demand, plan.programs, *resources);
  if (Result<void> able = CheckReachable(deliveries, *resources); !able) return able;
  const std::optional<DomainAssignment> domains =
      AssignDomains(deliveries, plan.demand, *resources);
  const DomainAssignment* assignment = domains ? &*domains : nullptr;
  const double bound = LowerBound(plan.job, plan.demand, job.cluster, *resources,
                                  domains ? &domains->weights : nullptr)
                           .seconds;
  const auto pieces = AssignSenders(plan.demand, deliveries, *resources, bound, assignment);
  const Routes routes = MakeRoutes(deliveries, pieces, *resources, bound, assignment);
  const Phases phases = MakePhases(deliveries);
  return ShapeSearch(cost_model, deliveries, routes, phases, PeakNetworkBytes(routes, *resources),
                     plan)
      .Run();
}

}  // namespace reshard
