#include "compiler/planning/optimal_planner.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compiler/bounds/bounds.h"
#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/alike_nics.h"
#include "compiler/planning/channel_choice.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/domain_assignment.h"
#include "compiler/planning/rail_bundles.h"
#include "compiler/planning/variant_search.h"
#include "compiler/planning/zero_rounds.h"

namespace reshard {
namespace {

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
          return group.local ? resources_.HasNvlink(h) : MeetsTheNetwork(h);
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
      if (wants_nvlink && !resources_.HasNvlink(r)) {
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

  // By itself or over NVLink and a NIC beside it.
  bool MeetsTheNetwork(RankIndex r) const {
    if (resources_.HasNic(r)) return true;
    const auto domain = static_cast<std::size_t>(resources_.domain[static_cast<std::size_t>(r)]);
    return resources_.HasNvlink(r) &&
           std::ranges::any_of(resources_.domains[domain].ranks, [this](RankIndex other) {
             return resources_.HasNic(other) && resources_.HasNvlink(other);
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
  plan.channels.channels_per_net_peer = ChooseChannelsPerNetPeer(*resources, cost_model.Channels());
  const Deliveries deliveries = FindDeliveries(plan.job, plan.demand, plan.programs, *resources);
  if (Result<void> able = ReachabilityCheck(deliveries, *resources).Run(); !able) return able;
  const std::optional<DomainAssignment> domains =
      AssignDomains(deliveries, plan.demand, *resources);
  const DomainAssignment* assignment = domains ? &*domains : nullptr;
  const double bound = LowerBound(plan.job, plan.demand, job.cluster, *resources,
                                  domains ? &domains->weights : nullptr)
                           .seconds;
  const RailBundles bundles(plan.job, job.cluster, *resources);
  const std::optional<RankResources> alike =
      WithAlikeNics(*resources, job.cluster.fabric.rail_crossing);
  Result<void> found = SearchVariants(cost_model, deliveries, *resources, alike ? &*alike : nullptr,
                                      bundles, bound, assignment, plan);
  if (!found) return found;
  plan.channels.max_p2p_peers = CountPeers(plan);
  PlaceZeros(plan);
  return {};
}

}  // namespace reshard
