#include "compiler/planning/tree_routes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/planning/heads.h"
#include "compiler/planning/nic_levels.h"
#include "compiler/planning/water_filling.h"

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

// NICs busy for less than this share of the bound do not bind.
constexpr double kBindingShare = 0.9;
// No cut is finer, where the bytes allow.
constexpr std::int64_t kLeastCutBytes = std::int64_t{64} << 10;
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

// A stretch of a class's stream that goes by one tree.
struct Segment {
  ClassIndex demand_class = 0;
  std::size_t position = 0;  // of the class in its group
  std::int64_t begin = 0;
  std::int64_t end = 0;
  const DeliveryTree* tree = nullptr;
  std::vector<RankIndex> heads;  // one per hop of the tree
};

class TreeRouter {
 public:
  TreeRouter(const Deliveries& deliveries, const Demand& demand, const RankResources& resources,
             const RailBundles& bundles, const DeliveryTrees& trees, double bound_seconds,
             const Routes& local, std::int64_t stripes)
      : deliveries_(deliveries),
        demand_(demand),
        resources_(resources),
        bundles_(bundles),
        trees_(trees),
        levels_(resources, bundles, kBindingShare * bound_seconds),
        local_(local),
        stripes_(stripes),
        sent_(resources.domain.size(), 0.0),
        nvlink_sent_(resources.domain.size(), 0.0) {}

  Routes Run() {
    CopyLocal();
    MakeSegments();
    ChooseHeads();
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

  // Per type, classes are dealt out to its trees: to each those first whose holders are on its
  // rails.
  void MakeSegments() {
    segments_.resize(deliveries_.groups.size());
    for (const TreeTraffic& type : trees_.traffic) {
      const DeliveryGroup& group = deliveries_.groups[type.group];
      std::vector<std::int64_t> begin(type.classes.size(), 0);
      for (const DeliveryTree& tree : type.trees) {
        const bool last = &tree == &type.trees.back();
        std::int64_t wanted = last ? kNoEnd : tree.bytes;
        for (const bool aligned : {true, false}) {
          for (std::size_t i = 0; i < type.classes.size() && wanted > 0; ++i) {
            const GroupClass& c = group.classes[type.classes[i]];
            const std::int64_t bytes = demand_.classes[At(c.demand_class)].bytes;
            if (begin[i] == bytes || (aligned && !HoldsOn(c, tree))) continue;
            std::int64_t end = bytes;
            if (wanted < bytes - begin[i]) end = AlignDown(begin[i] + wanted);
            if (end <= begin[i]) {
              wanted = 0;
              break;
            }
            segments_[type.group].push_back(
                {c.demand_class, type.classes[i], begin[i], end, &tree, {}});
            wanted -= end - begin[i];
            begin[i] = end;
          }
        }
      }
    }
    // Trees that enter the same domains over the same rails stand together.
    for (std::vector<Segment>& line : segments_) {
      std::stable_sort(line.begin(), line.end(), [](const Segment& a, const Segment& b) {
        return EntriesOf(*a.tree) < EntriesOf(*b.tree);
      });
      if (stripes_ > 1) line = Striped(line);
    }
  }

  // Of the segments with equal entries first a part of each, then the next part of each.
  std::vector<Segment> Striped(const std::vector<Segment>& line) const {
    std::vector<Segment> striped;
    for (std::size_t from = 0; from < line.size();) {
      std::size_t to = from;
      while (to < line.size() && EntriesOf(*line[to].tree) == EntriesOf(*line[from].tree)) ++to;
      for (std::int64_t stripe = 0; stripe < stripes_; ++stripe) {
        for (std::size_t i = from; i < to; ++i) {
          Segment part = line[i];
          const std::int64_t bytes = part.end - part.begin;
          const std::int64_t length =
              std::max(kLeastCutBytes, AlignUp((bytes + stripes_ - 1) / stripes_));
          part.begin = std::min(part.end, line[i].begin + stripe * length);
          part.end = std::min(part.end, part.begin + length);
          if (part.begin < part.end) striped.push_back(part);
        }
      }
      from = to;
    }
    return striped;
  }

  static std::vector<std::pair<DomainIndex, BundleIndex>> EntriesOf(const DeliveryTree& tree) {
    std::vector<std::pair<DomainIndex, BundleIndex>> entries;
    for (const DomainHop& hop : tree.hops) entries.emplace_back(hop.to, hop.in);
    return entries;
  }

  // Whether a holder of the tree's source has NICs on the rails of its first hop.
  bool HoldsOn(const GroupClass& c, const DeliveryTree& tree) const {
    return std::ranges::any_of(c.holders, [&](RankIndex h) {
      return resources_.domain[At(h)] == tree.source && bundles_.OfRank(h) == tree.hops[0].out;
    });
  }

  using Place = std::tuple<std::size_t, DomainIndex, BundleIndex>;      // group, domain, its rails
  using SetPlace = std::tuple<std::size_t, DomainIndex, std::int32_t>;  // of one rail set

  struct Quota {
    std::vector<std::pair<RankIndex, std::int64_t>> left;  // in the order they are used up
    std::size_t next = 0;
  };

  // What enters a domain on a bundle, of each group, is dealt out over its ranks there; the line of
  // segments is cut where any domain comes to its next rank.
  void ChooseHeads() {
    std::map<Place, std::int64_t> entering;
    for (std::size_t g = 0; g < segments_.size(); ++g) {
      for (const Segment& segment : segments_[g]) {
        for (const DomainHop& hop : segment.tree->hops) {
          entering[{g, hop.to, hop.in}] += segment.end - segment.begin;
        }
      }
    }
    std::vector<LevelRequest> requests;
    std::vector<Place> of_request;
    for (const auto& [place, bytes] : entering) {
      const auto [g, domain, bundle] = place;
      std::int64_t given = 0;
      double part = 0;
      for (std::int32_t set = 0; set < bundles_.rail_set_count(); ++set) {
        if (bundles_.OfRailSet(set) != bundle) continue;
        part += bundles_.PartOfSet(set);
        const std::int64_t upto =
            part > 1 - 1e-9
                ? bytes
                : AlignDown(static_cast<std::int64_t>(part * static_cast<double>(bytes)));
        if (upto > given) {
          requests.push_back(Entrance({g, domain, set}, upto - given));
          of_request.push_back(place);
        }
        given = upto;
      }
    }
    std::vector<double> loads(resources_.domain.size(), 0.0);
    const auto shares = levels_.Deal(requests, loads);
    std::map<Place, Quota> quotas;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Quota& quota = quotas[of_request[i]];
      auto of_set = shares[i];
      std::ranges::stable_sort(of_set);
      for (const auto& share : of_set) {
        if (share.second > 0) quota.left.push_back(share);
      }
    }
    for (auto& [place, quota] : quotas) quota.left.back().second = kNoEnd;  // what cuts leave over
    for (std::size_t g = 0; g < segments_.size(); ++g) {
      std::vector<Segment> cut;
      for (Segment& segment : segments_[g]) CutByHeads(g, segment, quotas, cut);
      segments_[g] = std::move(cut);
    }
  }

  void CutByHeads(std::size_t g, Segment& segment, std::map<Place, Quota>& quotas,
                  std::vector<Segment>& cut) const {
    std::vector<Quota*> of_hop;
    for (const DomainHop& hop : segment.tree->hops) of_hop.push_back(&quotas[{g, hop.to, hop.in}]);
    while (segment.begin < segment.end) {
      std::int64_t taken = segment.end - segment.begin;
      for (const Quota* quota : of_hop) taken = std::min(taken, quota->left[quota->next].second);
      if (taken < segment.end - segment.begin) taken = AlignUp(taken);
      taken = std::min(taken, segment.end - segment.begin);
      Segment part = segment;
      part.end = part.begin + taken;
      for (Quota* quota : of_hop) {
        auto& [rank, left] = quota->left[quota->next];
        part.heads.push_back(rank);
        if (left != kNoEnd) left -= taken;
        if (left < kSplitAlignmentBytes && quota->next + 1 < quota->left.size()) ++quota->next;
      }
      segment.begin += taken;
      cut.push_back(std::move(part));
    }
  }

  LevelRequest Entrance(const SetPlace& place, std::int64_t bytes) const {
    const auto& [g, domain, rail_set] = place;
    LevelRequest request{bytes, {}, {}};
    const std::set<RankIndex> receivers = ReceiversIn(g, domain);
    for (const RankIndex r : RanksOn(domain, rail_set)) {
      if (receivers.contains(r)) {
        request.preferred.push_back(r);
      } else if (resources_.HasNvlink(r)) {
        request.others.push_back(r);
      }
    }
    if (request.preferred.empty()) std::swap(request.preferred, request.others);
    KeepWorth(static_cast<std::int64_t>(g), kMinHeadBytes, request);
    return request;
  }

  // As many of the preferred ranks as the bytes are worth, different ones as `turn` says.
  static void KeepWorth(std::int64_t turn, std::int64_t least_bytes, LevelRequest& request) {
    const auto count = static_cast<std::int64_t>(request.preferred.size());
    const std::int64_t worth = std::max<std::int64_t>(1, request.bytes / least_bytes);
    if (worth >= count) return;
    std::vector<RankIndex> chosen;
    for (std::int64_t k = 0; k < worth; ++k) {
      chosen.push_back(
          request.preferred[static_cast<std::size_t>((turn + k * count / worth) % count)]);
    }
    std::ranges::sort(chosen);
    request.preferred = std::move(chosen);
  }

  std::set<RankIndex> ReceiversIn(std::size_t g, DomainIndex domain) const {
    for (const GroupDomain& of : deliveries_.groups[g].domains) {
      if (of.domain == domain) return {of.receivers.begin(), of.receivers.end()};
    }
    return {};
  }

  std::vector<RankIndex> RanksOn(DomainIndex domain, std::int32_t rail_set) const {
    std::vector<RankIndex> ranks;
    for (const RankIndex r : resources_.domains[At(domain)].ranks) {
      if (bundles_.RailSetOf(r) == rail_set) ranks.push_back(r);
    }
    return ranks;
  }

  // How much every rank should send at most, given what leaves its domain over its rails: those of
  // the heads, or where the tree crosses, all that it names.
  void CountLevels() {
    RailSetBytes bytes;
    for (const std::vector<Segment>& line : segments_) {
      for (const Segment& segment : line) {
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
      for (const Segment& segment : segments_[g]) requests.push_back(Departure(g, segment));
    }
    const auto dealt = levels_.Deal(requests, sent_);
    // Relays add to what their ranks send of their own.
    std::size_t i = 0;
    for (std::size_t g = 0; g < segments_.size(); ++g) {
      for (const Segment& segment : segments_[g]) {
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

  LevelRequest Departure(std::size_t g, const Segment& segment) const {
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
    KeepWorth(segment.demand_class, kLeastCutBytes, request);
    return request;
  }

  // A column of the bytes, cut further where a relay has sent enough.
  void Emit(std::size_t g, const Segment& segment, std::int64_t begin, std::int64_t end,
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
  RankIndex SenderOf(std::size_t g, const Segment& segment, std::size_t h, RankIndex exit,
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
      const std::set<RankIndex> receivers = ReceiversIn(g, hop.from);
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

  void AddColumn(std::size_t g, const Segment& segment, std::int64_t begin, std::int64_t end,
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

  std::int32_t PathOf(std::size_t g, const Segment& segment,
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
      for (const RankIndex receiver : ReceiversIn(g, segment.tree->hops[h].to)) {
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

  static std::int64_t AlignDown(std::int64_t bytes) {
    return bytes / kSplitAlignmentBytes * kSplitAlignmentBytes;
  }
  static std::int64_t AlignUp(std::int64_t bytes) {
    return (bytes + kSplitAlignmentBytes - 1) / kSplitAlignmentBytes * kSplitAlignmentBytes;
  }

  const Deliveries& deliveries_;
  const Demand& demand_;
  const RankResources& resources_;
  const RailBundles& bundles_;
  const DeliveryTrees& trees_;
  NicLevels levels_;
  const Routes& local_;
  std::int64_t stripes_;
  std::vector<std::vector<Segment>> segments_;  // per group, along its line
  std::vector<double> sent_;                    // over NICs, per rank
  std::vector<double> nvlink_sent_;             // to exits, per rank
  std::vector<double> limits_;                  // of sent_
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
