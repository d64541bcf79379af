#include "compiler/bounds/fabric_rates.h"

#include <algorithm>
#include <cstddef>
#include <set>

namespace reshard {

FabricRates::FabricRates(const JobRecords& job, const Cluster& cluster)
    : rail_crossing_(cluster.fabric.rail_crossing) {
  std::set<GpuIndex> job_gpus;
  for (const Rank& rank : job.ranks) job_gpus.insert(rank.gpu);
  std::vector<std::int32_t> rails;
  for (const Nic& nic : cluster.nics) rails.push_back(nic.rail);
  std::ranges::sort(rails);
  rails.erase(std::unique(rails.begin(), rails.end()), rails.end());

  const double share = job.options.nic_share;
  domain_rails_.assign(cluster.domains.size(), std::vector<double>(rails.size(), 0));
  crossing_.assign(rails.size(), 0);
  for (const Nic& nic : cluster.nics) {
    if (nic.gbps <= 0) continue;
    const auto rail =
        static_cast<std::size_t>(std::ranges::lower_bound(rails, nic.rail) - rails.begin());
    crossing_[rail] += nic.gbps * share / cluster.fabric.spine_oversubscription;
    const bool serves =
        std::ranges::any_of(nic.gpus, [&job_gpus](GpuIndex gpu) { return job_gpus.contains(gpu); });
    if (serves) domain_rails_[static_cast<std::size_t>(nic.domain)][rail] += nic.gbps * share;
  }
  for (const Switch& element : cluster.fabric.switches) {
    SwitchRate rate{element.domains, 0};
    std::ranges::sort(rate.domains);
    for (const Nic& nic : cluster.nics) {
      if (std::ranges::binary_search(rate.domains, nic.domain)) {
        rate.gbps += std::max(nic.gbps, 0.0) * share / element.oversubscription;
      }
    }
    switches_.push_back(std::move(rate));
  }
}

std::vector<double> FabricRates::ByRail(std::span<const DomainIndex> domains,
                                        bool is_inside) const {
  std::vector<bool> inside(domain_rails_.size(), false);
  for (const DomainIndex d : domains) inside[static_cast<std::size_t>(d)] = true;
  std::vector<double> sums(crossing_.size(), 0);
  for (std::size_t d = 0; d < domain_rails_.size(); ++d) {
    if (inside[d] != is_inside) continue;
    for (std::size_t rail = 0; rail < sums.size(); ++rail) sums[rail] += domain_rails_[d][rail];
  }
  return sums;
}

// What arrives on a rail has left on it, or crossed to it. So the rate is at most the sum over
// rails of min(receivers, senders + crossing into the rail), the same from the senders' side, and
// the sum of what can stay on its rail with all that may cross.
double FabricRates::Between(const std::vector<double>& senders,
                            const std::vector<double>& receivers) const {
  double arriving = 0;
  double leaving = 0;
  double staying_and_crossing = 0;
  for (std::size_t rail = 0; rail < senders.size(); ++rail) {
    const double crossing = rail_crossing_ == RailCrossing::kNone ? 0 : crossing_[rail];
    arriving += std::min(receivers[rail], senders[rail] + crossing);
    leaving += std::min(senders[rail], receivers[rail] + crossing);
    staying_and_crossing += std::min(senders[rail], receivers[rail]) + crossing;
  }
  return std::min({arriving, leaving, staying_and_crossing});
}

double FabricRates::Into(std::span<const DomainIndex> domains) const {
  const std::vector<double> own = ByRail(domains, true);
  double total = 0;
  for (const double gbps : own) total += gbps;
  if (rail_crossing_ == RailCrossing::kFull) return total;
  return std::min(total, Between(ByRail(domains, false), own));
}

double FabricRates::OutOf(std::span<const DomainIndex> domains) const {
  const std::vector<double> own = ByRail(domains, true);
  double total = 0;
  for (const double gbps : own) total += gbps;
  if (rail_crossing_ == RailCrossing::kFull) return total;
  return std::min(total, Between(own, ByRail(domains, false)));
}

}  // namespace reshard
