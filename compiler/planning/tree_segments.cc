#include "compiler/planning/tree_segments.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "compiler/planning/heads.h"
#include "compiler/planning/water_filling.h"

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

class SegmentMaker {
 public:
  SegmentMaker(const Deliveries& deliveries, const Demand& demand, const RankResources& resources,
               const RailBundles& bundles, const DeliveryTrees& trees, const NicLevels& levels,
               std::int64_t stripes)
      : deliveries_(deliveries),
        demand_(demand),
        resources_(resources),
        bundles_(bundles),
        trees_(trees),
        levels_(levels),
        stripes_(stripes) {}

  std::vector<std::vector<TreeSegment>> Run() {
    MakeSegments();
    ChooseHeads();
    return std::move(segments_);
  }

 private:
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
    for (std::vector<TreeSegment>& line : segments_) {
      std::stable_sort(line.begin(), line.end(), [](const TreeSegment& a, const TreeSegment& b) {
        return EntriesOf(*a.tree) < EntriesOf(*b.tree);
      });
      if (stripes_ > 1) line = Striped(line);
    }
  }

  // Of the segments with equal entries first a part of each, then the next part of each.
  std::vector<TreeSegment> Striped(const std::vector<TreeSegment>& line) const {
    std::vector<TreeSegment> striped;
    for (std::size_t from = 0; from < line.size();) {
      std::size_t to = from;
      while (to < line.size() && EntriesOf(*line[to].tree) == EntriesOf(*line[from].tree)) ++to;
      for (std::int64_t stripe = 0; stripe < stripes_; ++stripe) {
        for (std::size_t i = from; i < to; ++i) {
          TreeSegment part = line[i];
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
      for (const TreeSegment& segment : segments_[g]) {
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
      std::vector<TreeSegment> cut;
      for (TreeSegment& segment : segments_[g]) CutByHeads(g, segment, quotas, cut);
      segments_[g] = std::move(cut);
    }
  }

  void CutByHeads(std::size_t g, TreeSegment& segment, std::map<Place, Quota>& quotas,
                  std::vector<TreeSegment>& cut) const {
    std::vector<Quota*> of_hop;
    for (const DomainHop& hop : segment.tree->hops) of_hop.push_back(&quotas[{g, hop.to, hop.in}]);
    while (segment.begin < segment.end) {
      std::int64_t taken = segment.end - segment.begin;
      for (const Quota* quota : of_hop) taken = std::min(taken, quota->left[quota->next].second);
      if (taken < segment.end - segment.begin) taken = AlignUp(taken);
      taken = std::min(taken, segment.end - segment.begin);
      TreeSegment part = segment;
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
    const std::set<RankIndex> receivers = ReceiversIn(deliveries_.groups[g], domain);
    for (const RankIndex r : RanksOn(domain, rail_set)) {
      if (receivers.contains(r)) {
        request.preferred.push_back(r);
      } else if (resources_.HasNvlink(r)) {
        request.others.push_back(r);
      }
    }
    if (request.preferred.empty()) std::swap(request.preferred, request.others);
    // Without NVLink a rank can still pass on what it takes in itself.
    if (request.preferred.empty()) request.preferred = RanksOn(domain, rail_set);
    request.KeepWorth(static_cast<std::int64_t>(g), kMinHeadBytes);
    return request;
  }

  std::vector<RankIndex> RanksOn(DomainIndex domain, std::int32_t rail_set) const {
    std::vector<RankIndex> ranks;
    for (const RankIndex r : resources_.domains[At(domain)].ranks) {
      if (bundles_.RailSetOf(r) == rail_set) ranks.push_back(r);
    }
    return ranks;
  }

  const Deliveries& deliveries_;
  const Demand& demand_;
  const RankResources& resources_;
  const RailBundles& bundles_;
  const DeliveryTrees& trees_;
  const NicLevels& levels_;
  std::int64_t stripes_;
  std::vector<std::vector<TreeSegment>> segments_;  // per group, along its line
};

}  // namespace

std::vector<std::vector<TreeSegment>> MakeTreeSegments(
    const Deliveries& deliveries, const Demand& demand, const RankResources& resources,
    const RailBundles& bundles, const DeliveryTrees& trees, const NicLevels& levels,
    std::int64_t stripes) {
  return SegmentMaker(deliveries, demand, resources, bundles, trees, levels, stripes).Run();
}

std::set<RankIndex> ReceiversIn(const DeliveryGroup& group, DomainIndex domain) {
  for (const GroupDomain& of : group.domains) {
    if (of.domain == domain) return {of.receivers.begin(), of.receivers.end()};
  }
  return {};
}

}  // namespace reshard
