#include "compiler/bounds/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "compiler/bounds/fabric_rates.h"
#include "schedules/number_text.h"
#include "schedules/shortest_hop.h"

namespace reshard {
namespace {

std::string Amount(double bytes) { return BytesText(std::llround(bytes)); }

// A class by domains: who holds it, and which domains it must enter over NICs.
struct DomainClass {
  std::vector<DomainIndex> holders;
  std::vector<DomainIndex> entered;  // hold a needer and no holder
  double bytes = 0;
};

class BoundCalculator {
 public:
  BoundCalculator(const JobRecords& job, const Demand& demand, const Cluster& cluster,
                  const RankResources& resources)
      : job_(job),
        demand_(demand),
        cluster_(cluster),
        resources_(resources),
        fabric_(job, cluster) {}

  std::vector<BoundWitness> All(const DomainWeights* weights) {
    AddUp();
    std::vector<BoundWitness> bounds;
    const auto add = [&bounds](BoundWitness witness) {
      if (witness.seconds > 0) bounds.push_back(std::move(witness));
    };
    add(GpuIngress());
    add(DomainIngress());
    add(DomainSetEgress());
    add(SwitchIngress());
    add(SwitchEgress());
    if (weights != nullptr) add(WeightedDomains(*weights));
    add(GpuEgress());
    add(DomainFanOut());
    add(Latency());
    std::stable_sort(
        bounds.begin(), bounds.end(),
        [](const BoundWitness& a, const BoundWitness& b) { return a.seconds > b.seconds; });
    return bounds;
  }

 private:
  void AddUp() {
    const std::size_t ranks = job_.ranks.size();
    one_domain_ = std::ranges::all_of(
        job_.ranks, [this](const Rank& rank) { return rank.domain == job_.ranks[0].domain; });
    gpu_bytes_.assign(ranks, 0);
    only_holder_bytes_.assign(ranks, 0);
    domain_copies_.assign(cluster_.domains.size(), 0);
    std::map<std::pair<std::vector<DomainIndex>, std::vector<DomainIndex>>, double> by_domains;
    std::vector<bool> holds(ranks, false);
    for (const DemandClass& c : demand_.classes) {
      const std::span<const RankIndex> holders = demand_.Holders(c);
      const auto bytes = static_cast<double>(c.bytes);
      for (const RankIndex h : holders) holds[static_cast<std::size_t>(h)] = true;
      std::set<DomainIndex> holder_domains;
      for (const RankIndex h : holders) holder_domains.insert(Domain(h));
      std::set<DomainIndex> entered;
      bool moves = false;
      for (const RankIndex n : demand_.Needers(c)) {
        if (holds[static_cast<std::size_t>(n)]) continue;
        moves = true;
        gpu_bytes_[static_cast<std::size_t>(n)] += bytes;
        const DomainIndex d = Domain(n);
        domain_copies_[static_cast<std::size_t>(d)] += bytes;
        needers_.insert(n);
        if (holder_domains.contains(d)) {
          nvlink_hop_us_ = std::max(
              nvlink_hop_us_, cluster_.domains[static_cast<std::size_t>(d)].nvlink_latency_us);
        } else {
          entered.insert(d);
          network_hop_us_ = std::max(
              network_hop_us_, cluster_.domains[static_cast<std::size_t>(d)].network_latency_us);
        }
      }
      if (moves && holders.size() == 1) {
        only_holder_bytes_[static_cast<std::size_t>(holders[0])] += bytes;
      }
      if (!entered.empty()) {
        by_domains[{{holder_domains.begin(), holder_domains.end()},
                    {entered.begin(), entered.end()}}] += bytes;
      }
      for (const RankIndex h : holders) holds[static_cast<std::size_t>(h)] = false;
    }
    for (const auto& [domains, bytes] : by_domains) {
      classes_.push_back({domains.first, domains.second, bytes});
    }
  }

  DomainIndex Domain(RankIndex rank) const {
    return resources_.domain[static_cast<std::size_t>(rank)];
  }
  const DomainResources& Of(DomainIndex d) const {
    return resources_.domains[static_cast<std::size_t>(d)];
  }
  // NICs carry nothing inside a domain: in a job inside one they do not help.
  double NicRate(double gbps) const { return one_domain_ ? 0 : gbps; }
  static double Seconds(double bytes, double gbps) {
    return gbps > 0 ? bytes / (gbps * kBytesPerGB) : 0;
  }

  // LB1: what a GPU lacks must come in over its NVLink and its NICs.
  BoundWitness GpuIngress() const {
    BoundWitness best;
    for (std::size_t r = 0; r < gpu_bytes_.size(); ++r) {
      const double rate = resources_.nvlink_gbps[r] + NicRate(resources_.network_peak_gbps[r]);
      const double seconds = Seconds(gpu_bytes_[r], rate);
      if (seconds > best.seconds) {
        best = {seconds, "LB1",
                fmt::format("GPU {} ingress: {} at {:.0f} GB/s", job_.ranks[r].gpu,
                            Amount(gpu_bytes_[r]), rate)};
      }
    }
    return best;
  }

  // LB2: what a domain lacks must come in over its NICs once, as far as the fabric lets others
  // send.
  BoundWitness DomainIngress() const {
    std::vector<double> bytes(resources_.domains.size(), 0);
    for (const DomainClass& c : classes_) {
      for (const DomainIndex d : c.entered) bytes[static_cast<std::size_t>(d)] += c.bytes;
    }
    BoundWitness best;
    for (std::size_t d = 0; d < bytes.size(); ++d) {
      const auto domain = static_cast<DomainIndex>(d);
      const double rate = std::min(resources_.domains[d].network_gbps, LetInto(domain));
      const double seconds = Seconds(bytes[d], rate);
      if (seconds > best.seconds) {
        best = {seconds, "LB2", Describe(domain, "ingress", bytes[d], rate)};
      }
    }
    return best;
  }

  double LetInto(DomainIndex d) const { return fabric_.Into(std::span(&d, 1)); }

  // `gbps`: below the sum of its NICs where the fabric limits it.
  std::string Describe(DomainIndex d, const char* direction, double bytes, double gbps) const {
    const DomainResources& domain = Of(d);
    if (gbps < domain.network_gbps * (1 - 1e-9)) {
      return fmt::format("domain {} {}: {} at the {:.4g} GB/s that the fabric lets through", d,
                         direction, Amount(bytes), gbps);
    }
    return fmt::format("domain {} {}: {} over {} NICs at {:.4g} GB/s", d, direction, Amount(bytes),
                       domain.nic_count,
                       domain.network_gbps / static_cast<double>(domain.nic_count));
  }

  // LB3: what only a set of domains holds, and some domain outside the holders needs, must leave
  // that set once. The sets tried: each domain, each set of holders, and all domains.
  BoundWitness DomainSetEgress() const {
    std::set<std::vector<DomainIndex>> sets;
    std::vector<DomainIndex> all;
    for (std::size_t d = 0; d < resources_.domains.size(); ++d) {
      if (resources_.domains[d].ranks.empty()) continue;
      sets.insert({static_cast<DomainIndex>(d)});
      all.push_back(static_cast<DomainIndex>(d));
    }
    std::set<DomainIndex> holders;
    for (const DomainClass& c : classes_) {
      if (sets.size() < kMaxDomainSets) sets.insert(c.holders);
      holders.insert(c.holders.begin(), c.holders.end());
    }
    sets.insert({holders.begin(), holders.end()});
    BoundWitness best;
    for (const std::vector<DomainIndex>& set : sets) {
      double bytes = 0;
      double leaving = 0;  // of them, needed outside of the set
      for (const DomainClass& c : classes_) {
        if (!std::ranges::includes(set, c.holders)) continue;
        bytes += c.bytes;
        if (!std::ranges::includes(set, c.entered)) leaving += c.bytes;
      }
      double rate = 0;
      std::int64_t nics = 0;
      for (const DomainIndex d : set) {
        rate += Of(d).network_gbps;
        nics += Of(d).nic_count;
      }
      const double let_out = rate > 0 ? std::min(rate, fabric_.OutOf(set)) : 0;
      const bool by_fabric = Seconds(leaving, let_out) > Seconds(bytes, rate);
      const double seconds = by_fabric ? Seconds(leaving, let_out) : Seconds(bytes, rate);
      if (seconds <= best.seconds) continue;
      best = {seconds, "LB3",
              EgressText(set, by_fabric ? leaving : bytes, by_fabric ? let_out : rate, by_fabric,
                         nics)};
    }
    return best;
  }

  std::string EgressText(const std::vector<DomainIndex>& set, double bytes, double gbps,
                         bool by_fabric, std::int64_t nics) const {
    if (set.size() == 1) return Describe(set[0], "egress", bytes, gbps);
    if (by_fabric) {
      return fmt::format("{} domains egress: {} at the {:.4g} GB/s that the fabric lets through",
                         set.size(), Amount(bytes), gbps);
    }
    return fmt::format("{} domains egress: {} over {} NICs at {:.4g} GB/s", set.size(),
                       Amount(bytes), nics, gbps / static_cast<double>(nics));
  }

  // LB2 of a switch: what needers under it lack and nobody under it holds must come in through it.
  BoundWitness SwitchIngress() const {
    return OfSwitches("LB2", "ingress", [](const DomainClass& c, const auto& inside) {
      return std::ranges::none_of(c.holders, inside) && std::ranges::any_of(c.entered, inside);
    });
  }

  // LB3 of a switch: what only domains under it hold and others need must leave through it.
  BoundWitness SwitchEgress() const {
    return OfSwitches("LB3", "egress", [](const DomainClass& c, const auto& inside) {
      return std::ranges::all_of(c.holders, inside) && !std::ranges::all_of(c.entered, inside);
    });
  }

  template <typename Passes>
  BoundWitness OfSwitches(const char* name, const char* direction, const Passes& passes) const {
    BoundWitness best;
    for (std::size_t i = 0; i < fabric_.switches().size(); ++i) {
      const FabricRates::SwitchRate& element = fabric_.switches()[i];
      const auto inside = [&element](DomainIndex d) {
        return std::ranges::binary_search(element.domains, d);
      };
      double bytes = 0;
      for (const DomainClass& c : classes_) bytes += passes(c, inside) ? c.bytes : 0;
      const double seconds = Seconds(bytes, element.gbps);
      if (seconds <= best.seconds) continue;
      best = {seconds, name,
              fmt::format("switch {} {}: {} at {:.4g} GB/s", i, direction, Amount(bytes),
                          element.gbps)};
    }
    return best;
  }

  // LB4: at prices a (egress) and b (ingress) that add up to 1 over all NICs, moving a byte of a
  // class to its n domains costs at least the following, and all bytes at most T in time T. Each
  // copy is paid for at the domain it enters; the first one leaves a holder, the other n - 1 leave
  // holders or receivers, or helpers: those must first take in y copies that are sent as well, and
  // y of them can send n y and what other helpers took, (helpers - 1) y. The cost is linear in y
  // between y = 0 and the least y that lets helpers send all but the first copy, so one of both
  // ends is least.
  BoundWitness WeightedDomains(const DomainWeights& weights) const {
    double capacity = 0;
    for (std::size_t d = 0; d < resources_.domains.size(); ++d) {
      capacity += (weights.egress[d] + weights.ingress[d]) * resources_.domains[d].network_gbps;
    }
    if (capacity <= 0) return {};
    double cost = 0;
    for (const DomainClass& c : classes_) cost += c.bytes * LeastCost(c, weights);
    std::size_t priced = 0;
    for (std::size_t d = 0; d < resources_.domains.size(); ++d) {
      if (weights.egress[d] + weights.ingress[d] > 0) ++priced;
    }
    return {cost / (capacity * kBytesPerGB), "LB4",
            fmt::format("NICs of {} domains together: relays and copies of {}", priced,
                        Amount(TotalBytes()))};
  }

  double TotalBytes() const {
    double bytes = 0;
    for (const DomainClass& c : classes_) bytes += c.bytes;
    return bytes;
  }

  double LeastCost(const DomainClass& c, const DomainWeights& weights) const {
    const auto egress = [&](DomainIndex d) { return weights.egress[static_cast<std::size_t>(d)]; };
    const auto ingress = [&](DomainIndex d) {
      return weights.ingress[static_cast<std::size_t>(d)];
    };
    double holder = egress(c.holders[0]);
    for (const DomainIndex d : c.holders) holder = std::min(holder, egress(d));
    double relay = holder;
    double entering = 0;
    for (const DomainIndex d : c.entered) {
      relay = std::min(relay, egress(d));
      entering += ingress(d);
    }
    double helper_egress = relay;
    double helper_ingress = std::numeric_limits<double>::infinity();
    double helpers = 0;
    for (std::size_t h = 0; h < resources_.domains.size(); ++h) {
      const auto d = static_cast<DomainIndex>(h);
      if (Of(d).network_gbps <= 0 || std::ranges::binary_search(c.holders, d) ||
          std::ranges::binary_search(c.entered, d)) {
        continue;
      }
      ++helpers;
      helper_egress = std::min(helper_egress, egress(d));
      helper_ingress = std::min(helper_ingress, ingress(d));
    }
    const auto copies = static_cast<double>(c.entered.size());
    const double direct = holder + (copies - 1) * relay + entering;
    if (helpers == 0 || copies < 2) return direct;
    // y taken in must allow copies - 1 + y sent: (n + helpers - 1) y >= n - 1 + y.
    const double y = (copies - 1) / (copies + helpers - 2);
    return std::min(direct,
                    holder + (copies - 1 + y) * helper_egress + y * helper_ingress + entering);
  }

  // LB3g, of single GPUs: what one GPU alone holds and somebody else needs must leave it.
  BoundWitness GpuEgress() const {
    BoundWitness best;
    for (std::size_t r = 0; r < only_holder_bytes_.size(); ++r) {
      const double rate = resources_.nvlink_gbps[r] + NicRate(resources_.network_peak_gbps[r]);
      const double seconds = Seconds(only_holder_bytes_[r], rate);
      if (seconds > best.seconds) {
        best = {seconds, "LB3g",
                fmt::format("GPU {} egress: {} at {:.0f} GB/s", job_.ranks[r].gpu,
                            Amount(only_holder_bytes_[r]), rate)};
      }
    }
    return best;
  }

  // LB5: all copies a domain's needers lack, over their NVLinks and the domain's NICs.
  BoundWitness DomainFanOut() const {
    std::vector<double> rate(resources_.domains.size(), 0);
    for (const RankIndex n : needers_) {
      rate[static_cast<std::size_t>(Domain(n))] +=
          resources_.nvlink_gbps[static_cast<std::size_t>(n)];
    }
    BoundWitness best;
    for (std::size_t d = 0; d < rate.size(); ++d) {
      const double total = rate[d] + NicRate(resources_.domains[d].network_gbps);
      const double seconds = Seconds(domain_copies_[d], total);
      if (seconds > best.seconds) {
        best = {seconds, "LB5",
                fmt::format("domain {} fan-out: {} over NVLink and NICs at {:.0f} GB/s", d,
                            Amount(domain_copies_[d]), total)};
      }
    }
    return best;
  }

  // LB6: some byte makes at least one hop, by the protocol whose hops are the shortest.
  BoundWitness Latency() const {
    const double nvlink_us = nvlink_hop_us_ * kShortestNvlinkHop;
    const double network_us = network_hop_us_ * kShortestNetworkHop;
    const double us = std::max(nvlink_us, network_us);
    return {us * 1e-6, "LB6",
            fmt::format("latency: one {} hop of {:.1f} us",
                        network_us >= nvlink_us ? "network" : "NVLink", us)};
  }

  // Distinct holder sets beyond this many add nothing but time.
  static constexpr std::size_t kMaxDomainSets = 4096;

  const JobRecords& job_;
  const Demand& demand_;
  const Cluster& cluster_;
  const RankResources& resources_;
  FabricRates fabric_;
  bool one_domain_ = false;
  std::vector<double> gpu_bytes_;
  std::vector<double> only_holder_bytes_;
  std::vector<double> domain_copies_;
  std::set<RankIndex> needers_;
  std::vector<DomainClass> classes_;
  double nvlink_hop_us_ = 0;
  double network_hop_us_ = 0;
};

}  // namespace

std::vector<BoundWitness> LowerBounds(const JobRecords& job, const Demand& demand,
                                      const Cluster& cluster, const RankResources& resources,
                                      const DomainWeights* weights) {
  return BoundCalculator(job, demand, cluster, resources).All(weights);
}

BoundWitness LowerBound(const JobRecords& job, const Demand& demand, const Cluster& cluster,
                        const RankResources& resources, const DomainWeights* weights) {
  std::vector<BoundWitness> bounds = LowerBounds(job, demand, cluster, resources, weights);
  if (bounds.empty()) return {0, "none", "nothing moves between GPUs"};
  return std::move(bounds.front());
}

}  // namespace reshard
