#include "compiler/planning/heads.h"

#include <algorithm>
#include <utility>

#include "compiler/planning/water_filling.h"

namespace reshard {
namespace {

// A receiver is relieved of what exceeds its room by more than this share of its load.
constexpr double kLeastExcess = 0.005;
// A head slower than this share of the fastest NVLink of its group's receivers has deputies.
constexpr double kSlowNvlink = 0.9;

class HeadChoice {
 public:
  HeadChoice(const Deliveries& deliveries, const RankResources& resources, double bound_seconds)
      : deliveries_(deliveries), resources_(resources), bound_seconds_(bound_seconds) {}

  std::vector<std::vector<HeadCut>> Run() {
    heads_.resize(deliveries_.groups.size());
    for (std::size_t g = 0; g < heads_.size(); ++g) {
      heads_[g].resize(deliveries_.groups[g].domains.size());
    }
    SplitOverHeads(false, resources_.DealtGbps());
    SplitOverHeads(true, resources_.nvlink_gbps);
    return std::move(heads_);
  }

 private:
  void SplitOverHeads(bool local, const std::vector<double>& rates) {
    std::vector<SplitRequest> requests;
    std::vector<std::pair<std::size_t, std::size_t>> of;  // group, its domain
    for (std::size_t g = 0; g < deliveries_.groups.size(); ++g) {
      const DeliveryGroup& group = deliveries_.groups[g];
      if (group.local != local) continue;
      for (std::size_t d = 0; d < group.domains.size(); ++d) {
        requests.push_back({group.bytes, Candidates(group, d, g, rates)});
        of.emplace_back(g, d);
      }
    }
    std::vector<double> loads(resources_.domain.size(), 0.0);
    auto shares = SplitBalanced(requests, rates, loads);
    if (!local) {
      if (const std::vector<double> targets = NetworkTargets(loads); !targets.empty()) {
        loads.assign(loads.size(), 0.0);
        shares = SplitBalanced(requests, targets, loads);
      }
      RelieveReceivers(requests, loads, shares);
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const GroupDomain& domain = deliveries_.groups[of[i].first].domains[of[i].second];
      HeadCut& cut = heads_[of[i].first][of[i].second];
      std::int64_t at = 0;
      for (std::size_t k = 0; k < shares[i].size(); ++k) {
        if (shares[i][k] == 0) continue;
        AddHead(requests[i].candidates[k], domain, at, at + shares[i][k], cut);
        at += shares[i][k];
      }
    }
  }

  // A head's stretch of the line, in equal parts for its deputies where it has any.
  void AddHead(RankIndex head, const GroupDomain& domain, std::int64_t from, std::int64_t to,
               HeadCut& cut) const {
    std::vector<RankIndex> deputies = DeputiesOf(head, domain);
    const auto worth =
        static_cast<std::size_t>(std::max<std::int64_t>(1, (to - from) / kMinHeadBytes));
    deputies.resize(std::min(deputies.size(), worth));
    if (deputies.empty()) deputies.push_back(kNoDeputy);
    const auto count = static_cast<std::int64_t>(deputies.size());
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t end =
          k + 1 == count ? to : from + AlignDown((to - from) / count * (k + 1));
      cut.heads.push_back(head);
      cut.deputies.push_back(deputies[static_cast<std::size_t>(k)]);
      cut.ends.push_back(end);
    }
  }

  // With two other receivers or more a deputy saves the head a copy.
  std::vector<RankIndex> DeputiesOf(RankIndex head, const GroupDomain& domain) const {
    const auto nvlink = [this](RankIndex r) {
      return resources_.nvlink_gbps[static_cast<std::size_t>(r)];
    };
    double fastest = 0;
    std::size_t others = 0;
    for (const RankIndex r : domain.receivers) {
      fastest = std::max(fastest, nvlink(r));
      others += r == head ? 0 : 1;
    }
    std::vector<RankIndex> deputies;
    if (others < 2 || nvlink(head) >= kSlowNvlink * fastest) return deputies;
    for (const RankIndex r : domain.receivers) {
      if (r != head && nvlink(r) >= kSlowNvlink * fastest) deputies.push_back(r);
    }
    return deputies;
  }

  // Where NVLinks are too slow to bring some receivers what they lack in time: the bytes that every
  // rank had better take in over its NICs. Empty where the level split `loads` does.
  std::vector<double> NetworkTargets(const std::vector<double>& loads) const {
    std::vector<double> lacking(loads.size(), 0.0);  // all that a rank receives
    std::vector<double> network(loads.size(), 0.0);  // of it, what can come over NICs
    for (const DeliveryGroup& group : deliveries_.groups) {
      for (const GroupDomain& domain : group.domains) {
        for (const RankIndex r : domain.receivers) {
          lacking[static_cast<std::size_t>(r)] += static_cast<double>(group.bytes);
          if (!group.local)
            network[static_cast<std::size_t>(r)] += static_cast<double>(group.bytes);
        }
      }
    }
    std::vector<double> targets;
    const double time = bound_seconds_ * kBytesPerGB;
    for (const DomainResources& domain : resources_.domains) {
      double entering = 0;
      double fixed = 0;  // of ranks that must take in more
      double level = 0;  // what the others take in now
      std::vector<std::pair<RankIndex, double>> raised;
      for (const RankIndex rank : domain.ranks) {
        const auto r = static_cast<std::size_t>(rank);
        const double least = std::min(lacking[r] - resources_.nvlink_gbps[r] * time, network[r]);
        entering += loads[r];
        if (resources_.HasNic(rank) && least > loads[r] * (1 + kLeastExcess)) {
          raised.emplace_back(rank, least);
          fixed += least;
        } else {
          level += loads[r];
        }
      }
      if (raised.empty() || level <= 0 || fixed >= entering) continue;
      if (targets.empty()) targets = loads;
      for (const RankIndex r : domain.ranks) {
        targets[static_cast<std::size_t>(r)] *= (entering - fixed) / level;
      }
      for (const auto& [r, least] : raised) targets[static_cast<std::size_t>(r)] = least;
    }
    return targets;
  }

  // Receivers that would be busy for longer than the bound, and longer than their domain's mean,
  // leave the excess to ranks of the domain that have room.
  void RelieveReceivers(std::vector<SplitRequest>& requests, const std::vector<double>& loads,
                        std::vector<std::vector<std::int64_t>>& shares) const {
    for (const DomainResources& domain : resources_.domains) {
      if (domain.network_gbps <= 0) continue;
      double total = 0;
      for (const RankIndex r : domain.ranks) total += loads[static_cast<std::size_t>(r)];
      const double level =
          std::max(total / resources_.CountedGbps(domain), bound_seconds_ * kBytesPerGB);
      std::vector<std::pair<RankIndex, double>> room;
      for (const RankIndex r : domain.ranks) {
        const double spare = level * resources_.CountedGbps(r) - loads[static_cast<std::size_t>(r)];
        if (spare > 0 && resources_.HasNvlink(r)) room.emplace_back(r, spare);
      }
      std::size_t next = 0;
      for (const RankIndex r : domain.ranks) {
        const double load = loads[static_cast<std::size_t>(r)];
        const double excess = load - level * resources_.CountedGbps(r);
        if (excess < kLeastExcess * load || !resources_.HasNvlink(r)) continue;
        const double share = excess / load;
        for (std::size_t i = 0; i < requests.size(); ++i) {
          const auto at = std::ranges::find(requests[i].candidates, r);
          if (at == requests[i].candidates.end()) continue;
          const auto k = static_cast<std::size_t>(at - requests[i].candidates.begin());
          std::int64_t moved =
              AlignDown(static_cast<std::int64_t>(static_cast<double>(shares[i][k]) * share));
          // Beside what it relieves: where the line is cut elsewhere, it is as if it were not.
          std::size_t beside = k + 1;
          while (moved >= kSplitAlignmentBytes && next < room.size()) {
            const std::int64_t fits = AlignDown(static_cast<std::int64_t>(room[next].second));
            const std::int64_t part = std::min(moved, fits);
            if (part > 0) {
              const auto place = static_cast<std::ptrdiff_t>(beside++);
              requests[i].candidates.insert(requests[i].candidates.begin() + place,
                                            room[next].first);
              shares[i].insert(shares[i].begin() + place, part);
              shares[i][k] -= part;
              moved -= part;
              room[next].second -= static_cast<double>(part);
            }
            if (room[next].second < kSplitAlignmentBytes) ++next;
          }
        }
      }
    }
  }

  std::vector<RankIndex> Candidates(const DeliveryGroup& group, std::size_t d, std::size_t g,
                                    const std::vector<double>& rates) const {
    std::vector<RankIndex> able;
    for (const RankIndex r : group.domains[d].receivers) {
      if (rates[static_cast<std::size_t>(r)] > 0) able.push_back(r);
    }
    if (able.empty() && !group.local) able = EntriesBeside(group.domains[d].domain);
    if (able.empty()) able = group.domains[d].receivers;
    const auto count = static_cast<std::int64_t>(able.size());
    const std::int64_t worth = std::max<std::int64_t>(
        1, group.bytes / (kMinHeadBytes * static_cast<std::int64_t>(group.domains.size())));
    if (worth >= count) return able;
    std::vector<RankIndex> chosen;
    for (std::int64_t k = 0; k < worth; ++k) {
      chosen.push_back(able[static_cast<std::size_t>(
          (static_cast<std::int64_t>(g) + k * count / worth) % count)]);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  // Ranks that can take in over the network what receivers without a NIC at work need, and pass it
  // on over NVLink.
  std::vector<RankIndex> EntriesBeside(DomainIndex d) const {
    std::vector<RankIndex> entries;
    for (const RankIndex r : resources_.domains[static_cast<std::size_t>(d)].ranks) {
      if (resources_.HasNic(r) && resources_.HasNvlink(r)) {
        entries.push_back(r);
      }
    }
    return entries;
  }

  const Deliveries& deliveries_;
  const RankResources& resources_;
  double bound_seconds_;
  std::vector<std::vector<HeadCut>> heads_;  // per group and its domains
};

}  // namespace

std::vector<std::vector<HeadCut>> ChooseHeads(const Deliveries& deliveries,
                                              const RankResources& resources,
                                              double bound_seconds) {
  return HeadChoice(deliveries, resources, bound_seconds).Run();
}

}  // namespace reshard
