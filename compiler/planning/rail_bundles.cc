#include "compiler/planning/rail_bundles.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/bounds/fabric_rates.h"

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

constexpr double kCapacityPerGBps = 1e3;  // rates to the MB/s, where they are compared
constexpr double kNothing = 1e-9;         // a share below it is rounding
// Pairs of domains and of rails up to which every rail is looked at by itself.
constexpr std::size_t kFewPairs = 20'000;

}  // namespace

RailBundles::RailBundles(const JobRecords& job, const Cluster& cluster,
                         const RankResources& resources) {
  limited_ =
      cluster.fabric.rail_crossing != RailCrossing::kFull || !cluster.fabric.switches.empty();
  FindRailSets(job, cluster, resources);
  FindBundles(cluster, resources);
  rates_.assign(2 * resources.domains.size() * bundles_.size(), 0);
  for (std::size_t r = 0; r < rail_set_.size(); ++r) {
    const BundleIndex bundle = OfRank(static_cast<RankIndex>(r));
    if (bundle == kNoBundle) continue;
    rates_[At(EgressOf(resources.domain[r], bundle))] += resources.network_gbps[r];
    rates_[At(IngressOf(resources.domain[r], bundle))] += resources.network_gbps[r];
  }
  if (cluster.fabric.rail_crossing == RailCrossing::kSpine) AddSpine(job, cluster);
  FindPairs(cluster);
  first_switch_ = static_cast<std::int32_t>(rates_.size());
  const FabricRates fabric(job, cluster);
  for (const FabricRates::SwitchRate& element : fabric.switches()) {
    std::vector<bool>& inside = in_switch_.emplace_back(cluster.domains.size(), false);
    for (const DomainIndex d : element.domains) inside[At(d)] = true;
    rates_.insert(rates_.end(), 2, element.gbps);
  }
}

BundleIndex RailBundles::OfRank(RankIndex rank) const {
  const std::int32_t set = RailSetOf(rank);
  return set < 0 ? kNoBundle : bundle_of_set_[At(set)];
}

// A rank's bytes are spread over its NICs in proportion to their rates, shared ones divided.
void RailBundles::FindRailSets(const JobRecords& job, const Cluster& cluster,
                               const RankResources& resources) {
  const bool meet = cluster.fabric.rail_crossing == RailCrossing::kFull;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    if (resources.network_gbps[r] <= 0) {
      rail_set_.push_back(-1);
      continue;
    }
    RailShares shares;
    double total = 0;
    for (const NicIndex n : cluster.gpus[At(job.ranks[r].gpu)].nics) {
      const Nic& nic = cluster.nics[At(n)];
      if (nic.gbps <= 0) continue;
      const double part = nic.gbps / static_cast<double>(nic.gpus.size());
      shares[meet ? 0 : nic.rail] += part;
      total += part;
    }
    for (auto& [rail, share] : shares) share = std::round(share / total * 1e9) / 1e9;
    const auto known = std::ranges::find(rail_sets_, shares);
    rail_set_.push_back(static_cast<std::int32_t>(known - rail_sets_.begin()));
    if (known == rail_sets_.end()) rail_sets_.push_back(std::move(shares));
  }
}

void RailBundles::FindBundles(const Cluster& cluster, const RankResources& resources) {
  std::set<std::int32_t> rails;
  std::size_t rails_of_sets = 0;
  for (const RailShares& shares : rail_sets_) {
    rails_of_sets += shares.size();
    for (const auto& [rail, share] : shares) rails.insert(rail);
  }
  const std::size_t places = resources.domains.size() * rail_sets_.size();
  const bool disjoint = rails.size() == rails_of_sets && places * places > kFewPairs;
  std::map<std::int32_t, double> nics_of_rail;
  for (const Nic& nic : cluster.nics) nics_of_rail[nic.rail] += std::max(0.0, nic.gbps);
  // What makes two rail sets alike: their NICs in every domain, and all there are of their rails.
  std::vector<std::vector<std::int64_t>> rates(
      rail_sets_.size(), std::vector<std::int64_t>(resources.domains.size() + 1, 0));
  for (std::size_t r = 0; r < rail_set_.size(); ++r) {
    if (rail_set_[r] < 0) continue;
    rates[At(rail_set_[r])][At(resources.domain[r])] +=
        std::llround(resources.network_gbps[r] * kCapacityPerGBps);
  }
  std::map<std::vector<std::int64_t>, BundleIndex> known;
  std::vector<double> sets_of_bundle;
  for (std::size_t s = 0; s < rail_sets_.size(); ++s) {
    double all = 0;
    for (const auto& [rail, share] : rail_sets_[s]) all += nics_of_rail[rail];
    rates[s].back() = disjoint ? std::llround(all * kCapacityPerGBps)
                               : static_cast<std::int64_t>(s);  // each a bundle of its own
    const auto [entry, is_new] =
        known.try_emplace(rates[s], static_cast<BundleIndex>(bundles_.size()));
    bundle_of_set_.push_back(entry->second);
    if (is_new) {
      bundles_.emplace_back();
      sets_of_bundle.push_back(0);
    }
    ++sets_of_bundle[At(entry->second)];
    for (const auto& [rail, share] : rail_sets_[s]) bundles_[At(entry->second)][rail] += share;
  }
  for (std::size_t b = 0; b < bundles_.size(); ++b) {
    for (auto& [rail, share] : bundles_[b]) share /= sets_of_bundle[b];
  }
  for (const double sets : sets_of_bundle) sets_in_bundle_.push_back(sets);
}

void RailBundles::AddSpine(const JobRecords& job, const Cluster& cluster) {
  for (const Nic& nic : cluster.nics) {
    const auto [entry, is_new] =
        spine_of_rail_.try_emplace(nic.rail, static_cast<std::int32_t>(rates_.size()));
    if (is_new) rates_.insert(rates_.end(), 2, 0.0);
    const double gbps =
        std::max(0.0, nic.gbps) * job.options.nic_share / cluster.fabric.spine_oversubscription;
    rates_[At(entry->second)] += gbps;
    rates_[At(entry->second + 1)] += gbps;
  }
}

// On each rail as many bytes stay on it as both ends use it for. The rest crosses or, where nothing
// does, goes over the rails that both have.
void RailBundles::FindPairs(const Cluster& cluster) {
  const RailCrossing crossing = cluster.fabric.rail_crossing;
  for (const RailShares& out : bundles_) {
    for (const RailShares& in : bundles_) {
      Pair pair;
      double aligned = 0;
      for (const auto& [rail, share] : out) {
        const auto there = in.find(rail);
        if (there != in.end()) aligned += std::min(share, there->second);
      }
      pair.crosses = crossing != RailCrossing::kFull && aligned < 1 - 1e-6;
      if (crossing == RailCrossing::kNone && pair.crosses) {
        pair.crosses = false;
        pair.meet = aligned > kNothing;
        for (const auto& [rail, share] : out) {
          const auto there = in.find(rail);
          if (there == in.end() || !pair.meet) continue;
          const double both = std::min(share, there->second) / aligned;
          pair.egress = std::max(pair.egress, both / share);
          pair.ingress = std::max(pair.ingress, both / there->second);
        }
      }
      if (crossing == RailCrossing::kSpine && pair.crosses) {
        RailShares surplus = out;
        for (const auto& [rail, share] : in) surplus[rail] -= share;
        for (const auto& [rail, share] : surplus) {
          if (share > kNothing) pair.spine.push_back({spine_of_rail_[rail], share});
          if (share < -kNothing) pair.spine.push_back({spine_of_rail_[rail] + 1, -share});
        }
      }
      pairs_.push_back(std::move(pair));
    }
  }
}

std::vector<FabricUse> RailBundles::UsesOf(DomainIndex from, BundleIndex out, DomainIndex to,
                                           BundleIndex in) const {
  const Pair& pair = Between(out, in);
  std::vector<FabricUse> uses = pair.spine;
  uses.push_back({EgressOf(from, out), pair.egress});
  uses.push_back({IngressOf(to, in), pair.ingress});
  for (std::size_t i = 0; i < in_switch_.size(); ++i) {
    const bool leaves = in_switch_[i][At(from)];
    const bool enters = in_switch_[i][At(to)];
    const auto resource = first_switch_ + 2 * static_cast<std::int32_t>(i);
    if (leaves && !enters) uses.push_back({resource, 1});
    if (enters && !leaves) uses.push_back({resource + 1, 1});
  }
  return uses;
}

}  // namespace reshard
