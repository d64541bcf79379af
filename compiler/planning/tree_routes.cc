#include "compiler/planning/tree_routes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/planning/nic_levels.h"
#include "compiler/planning/tree_segments.h"
#include "compiler/planning/water_filling.h"

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

// NICs busy for less than this share of the bound do not bind.
constexpr double kBindingShare = 0.9;

class TreeRouter {
 public:
  TreeRouter(const Deliveries& deliveries, const Demand& demand, const RankResources& resources,
             const RailBundles& bundles, const DeliveryTrees& trees, double bound_seconds,
             const Routes& local, std::int64_t stripes)
      : deliveries_(deliveries),
        resources_(resources),
        bundles_(bundles),
        levels_(resources, bundles, kBindingShare * bound_seconds),
        local_(local),
        segments_(
            MakeTreeSegments(deliveries, demand, resources, bundles, trees, levels_, stripes)),
        sent_(resources.domain.size(), 0.0),
        nvlink_sent_(resources.domain.size(), 0.0) {}

  Routes Run() {
    CopyLocal();
    CountLevels();
    ChooseSenders();
    std::stable_sort(routes_.columns.begin(), routes_.columns.end(),
                     [](const RoutedColumn& a, const RoutedColumn& b) {
                       return std::tie(a.group, a.path, a.exit) < std::tie(b.group, b.path, b.exit);
                     });
    return std::move(routes_);
  }

 private:
  void CopyLocal() {
    std::map<std::int32_t, std::int32_t> known;
    for (RoutedColumn column : local_.columns) {
      if (!deliveries_.groups[At(column.group)].local) continue;
      const auto [entry, is_new] =
          known.try_emplace(column.path, static_cast<std::int32_t>(routes_.paths.size()));
      if (is_new) routes_.paths.push_back(local_.paths[At(column.path)]);
      column.path = entry->second;
      routes_.columns.push_back(column);
    }
  }

  // How much every rank should send at most, given what leaves its domain over its rails: those of
  // the heads, or where the tree crosses, all that it names.
  void CountLevels() {
    RailSetBytes bytes;
    for (const std::vector<TreeSegment>& line : segments_) {
      for (const TreeSegment& segment : line) {
        const auto size = static_cast<double>(segment.end - segment.begin);
        for (std::size_t h = 0; h < segment.heads.size(); ++h) {
          const DomainHop& hop = segment.tree->hops[h];
          if (hop.out == hop.in) {
            bytes[{hop.from, bundles_.RailSetOf(segment.heads[h])}] += size;
            continue;
          }
          for (std::int32_t set = 0; set < bundles_.rail_set_count(); ++set) {
            if (bundles_.OfRailSet(set) != hop.out) continue;
            bytes[{hop.from, set}] += size * bundles_.PartOfSet(set);
          }
        }
      }
    }
    limits_ = levels_.Limits(bytes);
  }

  // Whether `rank` can send what the hop brings to `head`: over its very rails, or where the tree
  // crosses or only some rails meet, over those it names.
  bool Fits(RankIndex rank, const DomainHop& hop, RankIndex head) const {
    if (bundles_.OfRank(rank) != hop.out) return false;
    return hop.out != hop.in || bundles_.RailSetOf(rank) == bundles_.RailSetOf(head);
  }

  // First hops are dealt out over the holders on the right rails, then relays follow.
  void ChooseSenders() {
    std::vector<LevelRequest> requests;
    for (std::size_t g = 0; g < segments_.size(); ++g) {
      for (const TreeSegment& segment : segments_[g]) requests.push_back(Departure(g, segment));
    }
    const auto dealt = levels_.Deal(requests, sent_);
    // Relays add to what their ranks send of their own.
    std::size_t i = 0;
    for (std::size_t g = 0; g < segments_.size(); ++g) {
      for (const TreeSegment& segment : segments_[g]) {
        std::int64_t begin = segment.begin;
        std::int64_t left = segment.end - segment.begin;
        for (std::size_t k = 0; k < dealt[i].size() && left > 0; ++k) {
          const auto& [exit, bytes] = dealt[i][k];
          if (bytes == 0) continue;
          std::int64_t taken = std::min(left, AlignUp(bytes));
          if (k + 1 == dealt[i].size()) taken = left;
          Emit(g, segment, begin, begin + taken, exit);
          begin += taken;
          left -= taken;
        }
        if (left > 0) Emit(g, segment, begin, segment.end, dealt[i].front().first);
        ++i;
      }
    }
  }

  LevelRequest Departure(std::size_t g, const TreeSegment& segment) const {
    const DomainHop& hop = segment.tree->hops[0];
    LevelRequest request{segment.end - segment.begin, {}, {}};
    const std::vector<RankIndex>& holders = deliveries_.groups[g].classes[segment.position].holders;
    const bool linked = std::ranges::any_of(holders, [&](RankIndex h) {
      return resources_.domain[At(h)] == hop.from && resources_.HasNvlink(h);
    });
    for (const RankIndex r : resources_.domains[At(hop.from)].ranks) {
      if (!Fits(r, hop, segment.heads[0])) continue;
      if (std::ranges::binary_search(holders, r)) {
        request.preferred.push_back(r);
      } else if (linked && resources_.HasNvlink(r)) {
        request.others.push_back(r);
      }
    }
    if (request.preferred.empty()) std::swap(request.preferred, request.others);
    // Where no NVLink leads to those rails, over the holders' own, if at all.
    if (request.preferred.empty()) {
      std::ranges::copy_if(holders, std::back_inserter(request.preferred),
                           [&](RankIndex h) { return resources_.domain[At(h)] == hop.from; });
    }
    request.KeepWorth(segment.demand_class, kLeastCutBytes);
    return request;
  }

  // A column of the bytes, cut further where a relay has sent enough.
  void Emit(std::size_t g, const TreeSegment& segment, std::int64_t begin, std::int64_t end,
            RankIndex exit) {
    while (begin < end) {
      std::int64_t taken = end - begin;
      std::vector<RankIndex> senders{exit};
      for (std::size_t h = 1; h < segment.tree->hops.size(); ++h) {
        senders.push_back(SenderOf(g, segment, h, exit, taken));
      }
      if (taken < end - begin) taken = std::min(end - begin, AlignUp(taken));
      for (std::size_t h = 1; h < senders.size(); ++h) {
        sent_[At(senders[h])] += static_cast<double>(taken);
      }
      AddColumn(g, segment, begin, begin + taken, senders);
      begin += taken;
    }
  }

  // The rank that makes hop `h`: where the bytes are if it fits and has not sent enough, else the
  // one that has most room, receivers of the bytes first. `bytes` becomes no more than its room.
  RankIndex SenderOf(std::size_t g, const TreeSegment& segment, std::size_t h, RankIndex exit,
                     std::int64_t& bytes) const {
    const DomainHop& hop = segment.tree->hops[h];
    const RankIndex at = hop.parent == kFromHolders ? exit : segment.heads[At(hop.parent)];
    const RankIndex head = segment.heads[h];
    const auto room = [this](RankIndex r) {
      return (limits_[At(r)] - sent_[At(r)]) / resources_.network_gbps[At(r)];
    };
    const auto worth = [&](RankIndex r) {
      return room(r) * resources_.network_gbps[At(r)] >=
             static_cast<double>(std::min(bytes, kLeastCutBytes));
    };
    RankIndex chosen = at;
    if (!Fits(at, hop, head) || !worth(at)) {
      const std::set<RankIndex> receivers = ReceiversIn(deliveries_.groups[g], hop.from);
      bool found = Fits(at, hop, head);
      const auto rank_of = [&](RankIndex r) {
        return std::pair(worth(r) && receivers.contains(r), room(r));
      };
      for (const RankIndex r : resources_.domains[At(hop.from)].ranks) {
        if (!Fits(r, hop, head) || (r != at && !resources_.HasNvlink(r))) continue;
        if (r != at && !resources_.HasNvlink(at)) continue;
        if (!found || rank_of(r) > rank_of(chosen)) chosen = r;
        found = true;
      }
    }
    if (worth(chosen)) {
      const double most = room(chosen) * resources_.network_gbps[At(chosen)];
      bytes = std::min(bytes, std::max(kLeastCutBytes, static_cast<std::int64_t>(most)));
    }
    return chosen;
  }

  void AddColumn(std::size_t g, const TreeSegment& segment, std::int64_t begin, std::int64_t end,
                 const std::vector<RankIndex>& senders) {
    const RankIndex exit = senders[0];
    const GroupClass& c = deliveries_.groups[g].classes[segment.position];
    const RankIndex holder = HolderFor(c, segment.tree->source, exit);
    if (holder != exit) nvlink_sent_[At(holder)] += static_cast<double>(end - begin);
    routes_.columns.push_back({segment.demand_class, begin, end, holder, exit,
                               PathOf(g, segment, senders), static_cast<std::int32_t>(g)});
  }

  // The exit itself if it holds the class, else the holder beside it that sends least.
  RankIndex HolderFor(const GroupClass& c, DomainIndex source, RankIndex exit) const {
    if (std::ranges::binary_search(c.holders, exit)) return exit;
    RankIndex best = -1;
    const auto time = [this](RankIndex r) {
      return nvlink_sent_[At(r)] / resources_.nvlink_gbps[At(r)];
    };
    for (const RankIndex h : c.holders) {
      if (resources_.domain[At(h)] != source || !resources_.HasNvlink(h)) continue;
      if (best < 0 || time(h) < time(best)) best = h;
    }
    return best < 0 ? c.holders[0] : best;
  }

  std::int32_t PathOf(std::size_t g, const TreeSegment& segment,
                      const std::vector<RankIndex>& senders) {
    std::vector<PathHop> hops;
    std::vector<std::int32_t> arrival;  // hop of the path that makes each hop of the tree
    for (std::size_t h = 0; h < senders.size(); ++h) {
      const std::int32_t parent = segment.tree->hops[h].parent;
      const std::int32_t from = parent == kFromHolders ? kFromSender : arrival[At(parent)];
      const RankIndex at = parent == kFromHolders ? senders[0] : segment.heads[At(parent)];
      const std::int32_t by = HopTo(senders[h], at, from, hops);
      hops.push_back({by == kFromSender ? 0 : hops[At(by)].to, segment.heads[h], by});
      arrival.push_back(static_cast<std::int32_t>(hops.size()) - 1);
    }
    for (std::size_t h = 0; h < senders.size(); ++h) {
      for (const RankIndex receiver :
           ReceiversIn(deliveries_.groups[g], segment.tree->hops[h].to)) {
        if (std::ranges::any_of(hops, [&](const PathHop& hop) { return hop.to == receiver; })) {
          continue;
        }
        hops.push_back({segment.heads[h], receiver, arrival[h]});
      }
    }
    std::vector<std::tuple<RankIndex, RankIndex, std::int32_t>> key;
    for (const PathHop& hop : hops) key.emplace_back(hop.from, hop.to, hop.parent);
    const auto [entry, is_new] =
        paths_.try_emplace({g, std::move(key)}, static_cast<std::int32_t>(routes_.paths.size()));
    if (is_new) routes_.paths.push_back({std::move(hops)});
    return entry->second;
  }

  // The hop that brings bytes to `rank`, from `at` beside it, which hop `from` reaches.
  static std::int32_t HopTo(RankIndex rank, RankIndex at, std::int32_t from,
                            std::vector<PathHop>& hops) {
    if (rank == at) return from;
    for (std::size_t i = 0; i < hops.size(); ++i) {
      if (hops[i].to == rank) return static_cast<std::int32_t>(i);
    }
    hops.push_back({from == kFromSender ? 0 : at, rank, from});
    return static_cast<std::int32_t>(hops.size()) - 1;
  }

  const Deliveries& deliveries_;
  const RankResources& resources_;
  const RailBundles& bundles_;
  NicLevels levels_;
  const Routes& local_;
  std::vector<std::vector<TreeSegment>> segments_;  // per group, along its line
  std::vector<double> sent_;                        // over NICs, per rank
  std::vector<double> nvlink_sent_;                 // to exits, per rank
  std::vector<double> limits_;                      // of sent_
  std::map<std::pair<std::size_t, std::vector<std::tuple<RankIndex, RankIndex, std::int32_t>>>,
           std::int32_t>
      paths_;
  Routes routes_;
};

}  // namespace

Routes MakeTreeRoutes(const Deliveries& deliveries, const Demand& demand,
                      const RankResources& resources, const RailBundles& bundles,
                      const DeliveryTrees& trees, double bound_seconds, const Routes& local,
                      std::int64_t stripes) {
  return TreeRouter(deliveries, demand, resources, bundles, trees, bound_seconds, local, stripes)
      .Run();
}

}  // namespace reshard
