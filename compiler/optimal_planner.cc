#include "compiler/optimal_planner.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/bounds.h"
#include "compiler/delivery_groups.h"
#include "compiler/domain_assignment.h"
#include "compiler/rank_resources.h"
#include "compiler/rounds.h"
#include "compiler/routes.h"
#include "compiler/senders.h"
#include "compiler/shape_search.h"

namespace reshard {
namespace {

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
class ReachabilityCheck {
 public:
  ReachabilityCheck(const Deliveries& deliveries, const RankResources& resources)
      : deliveries_(deliveries), resources_(resources) {}

  Result<void> Run() const {
    for (const DeliveryGroup& group : deliveries_.groups) {
      for (const GroupDomain& domain : group.domains) {
        if (Result<void> reached = CheckReceivers(group, domain); !reached) return reached;
      }
      for (const GroupClass& c : group.classes) {
        const bool able = std::ranges::any_of(c.holders, [&](RankIndex h) {
          return group.local ? HasNvlink(h) : MeetsTheNetwork(h);
        });
        if (!able) {
          return Refuse(
              "rank " + std::to_string(c.holders[0]),
              "bytes only its domain holds must leave it and no link there has bandwidth");
        }
      }
    }
    return {};
  }

 private:
  Result<void> CheckReceivers(const DeliveryGroup& group, const GroupDomain& domain) const {
    const DomainResources& of = resources_.domains[static_cast<std::size_t>(domain.domain)];
    if (!group.local && of.network_gbps <= 0) {
      return Refuse("domain " + std::to_string(domain.domain),
                    "bytes must enter it and none of its NICs has any bandwidth");
    }
    const bool wants_nvlink = group.local || domain.receivers.size() > 1;
    for (const RankIndex r : domain.receivers) {
      if (wants_nvlink && !HasNvlink(r)) {
        return Refuse("rank " + std::to_string(r),
                      "bytes must come to it over NVLink and it has no NVLink bandwidth");
      }
    }
    const bool enters =
        std::ranges::any_of(domain.receivers, [this](RankIndex r) { return MeetsTheNetwork(r); });
    if (!group.local && !enters) {
      return Refuse(
          "rank " + std::to_string(domain.receivers[0]),
          "bytes must come to it and neither a NIC of its own nor NVLink from a rank that "
          "has one brings them");
    }
    return {};
  }

  bool HasNvlink(RankIndex r) const {
    return resources_.nvlink_gbps[static_cast<std::size_t>(r)] > 0;
  }
  bool HasNic(RankIndex r) const {
    return resources_.network_gbps[static_cast<std::size_t>(r)] > 0;
  }
  // By itself or over NVLink and a NIC beside it.
  bool MeetsTheNetwork(RankIndex r) const {
    if (HasNic(r)) return true;
    const auto domain = static_cast<std::size_t>(resources_.domain[static_cast<std::size_t>(r)]);
    return HasNvlink(r) &&
           std::ranges::any_of(resources_.domains[domain].ranks, [this](RankIndex other) {
             return HasNic(other) && HasNvlink(other);
           });
  }
  static tl::unexpected<Error> Refuse(std::string place, const char* reason) {
    return InputError(std::move(place), reason, "give it bandwidth, or leave it out of the job");
  }

  const Deliveries& deliveries_;
  const RankResources& resources_;
};

}  // namespace

Result<void> OptimalPlanner::MakeSchedule(const Job& job, const CostModel& cost_model,
                                          Plan& plan) const {
  Result<RankResources> resources = MakeRankResources(plan.job, job.cluster);
  if (!resources) return tl::unexpected(resources.error());
  const Deliveries deliveries = FindDeliveries(plan.job, plan.demand, plan.programs, *resources);
  if (Result<void> able = ReachabilityCheck(deliveries, *resources).Run(); !able) return able;
  const std::optional<DomainAssignment> domains =
      AssignDomains(deliveries, plan.demand, *resources);
  const DomainAssignment* assignment = domains ? &*domains : nullptr;
  const double bound = LowerBound(plan.job, plan.demand, job.cluster, *resources,
                                  domains ? &domains->weights : nullptr)
                           .seconds;
  const auto pieces = AssignSenders(plan.demand, deliveries, *resources, bound, assignment);
  const Routes routes = MakeRoutes(deliveries, pieces, *resources, bound, assignment);
  const Phases phases = MakePhases(deliveries, routes, *resources, bound);
  return SearchShapes(cost_model, deliveries, routes, phases, PeakNetworkBytes(routes, *resources),
                      plan);
}

}  // namespace reshard
