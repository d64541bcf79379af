#include "compiler/planning/routes.h"

#include <algorithm>
#include <numeric>

#include "compiler/planning/heads.h"
#include "compiler/planning/shared_exits.h"
#include "compiler/planning/water_filling.h"

namespace reshard {
namespace {

class RouteMaker {
 public:
  RouteMaker(const Deliveries& deliveries, const std::vector<std::vector<Piece>>& pieces,
             const RankResources& resources, double bound_seconds, const DomainAssignment* domains,
             LocalFanOut fan_out)
      : deliveries_(deliveries),
        pieces_(pieces),
        resources_(resources),
        bound_seconds_(bound_seconds),
        domains_(domains),
        fan_out_(fan_out),
        helper_load_(resources.domain.size(), 0.0) {}

  Routes Run() {
    heads_ = ChooseHeads(deliveries_, resources_, bound_seconds_);
    for (std::size_t g = 0; g < deliveries_.groups.size(); ++g) {
      if (deliveries_.groups[g].local && !WantsHeads(g)) {
        Star(g);
      } else {
        CutLine(g);
      }
    }
    CutOffHelpers();
    DealOutRelays();
    EmitColumns();
    return std::move(routes_);
  }

 private:
  // A stretch of a group's line along which no domain changes its head.
  struct Interval {
    std::size_t group = 0;
    std::int64_t from = 0;
    std::int64_t to = 0;
    bool star = false;
    std::vector<std::size_t> entries;  // domains of the group that a part enters first, ascending
    std::vector<std::int64_t> ends;    // where each of these parts ends
    std::int64_t helped_from = 0;      // from here on it enters helpers first
  };

  struct Cursor {  // on a group's line
    std::size_t piece = 0;
    std::int64_t used = 0;  // of that piece
    std::int64_t position = 0;
  };

  // A local group with more receivers than senders: were every sender to send to each receiver, the
  // senders' NVLinks would carry more than the receivers'. Or any, where receivers pass on all.
  bool WantsHeads(std::size_t g) const {
    std::vector<RankIndex> senders;
    for (const Piece& piece : pieces_[g]) senders.push_back(piece.exit);
    std::sort(senders.begin(), senders.end());
    const auto distinct = std::unique(senders.begin(), senders.end()) - senders.begin();
    const DeliveryGroup& group = deliveries_.groups[g];
    const std::size_t receivers = group.domains[0].receivers.size();
    const bool wanted = fan_out_ == LocalFanOut::kFromReceivers
                            ? receivers > 1
                            : receivers > static_cast<std::size_t>(distinct);
    return wanted && group.bytes >= kMinHeadBytes * static_cast<std::int64_t>(receivers);
  }

  std::int32_t AddPath(DeliveryPath path) {
    routes_.paths.push_back(std::move(path));
    return static_cast<std::int32_t>(routes_.paths.size()) - 1;
  }

  // Every sender sends to each receiver.
  void Star(std::size_t g) {
    DeliveryPath path;
    for (const RankIndex receiver : deliveries_.groups[g].domains[0].receivers) {
      path.hops.push_back({0, receiver, kFromSender});
    }
    const std::int32_t index = AddPath(std::move(path));
    for (const Piece& piece : pieces_[g]) AddColumn(g, piece, piece.begin, piece.end, index);
  }

  void AddColumn(std::size_t g, const Piece& piece, std::int64_t begin, std::int64_t end,
                 std::int32_t path) {
    // Towards one head the bytes leave over that head's rail, where rails do not meet.
    const std::vector<PathHop>& hops = routes_.paths[static_cast<std::size_t>(path)].hops;
    const bool one_head = hops.size() < 2 || hops[1].parent != kFromSender;
    const bool aligns = one_head && !deliveries_.groups[g].local;
    const RankIndex exit = aligns ? OnRailOf(hops[0].to, piece.exit) : piece.exit;
    routes_.columns.push_back(
        {piece.demand_class, begin, end, piece.holder, exit, path, static_cast<std::int32_t>(g)});
  }

  // The group's line is cut where any domain changes its head, and where star pieces begin.
  void CutLine(std::size_t g) {
    std::vector<std::int64_t> cuts;
    for (const HeadCut& cut : heads_[g]) cuts.insert(cuts.end(), cut.ends.begin(), cut.ends.end());
    std::int64_t star_begin = 0;
    for (const Piece& piece : pieces_[g]) star_begin += piece.star ? 0 : piece.size();
    if (star_begin > 0) cuts.push_back(star_begin);
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::int64_t from = 0;
    for (const std::int64_t to : cuts) {
      intervals_.push_back({g, from, to, from >= star_begin, {}, {}, to});
      from = to;
    }
  }

  // What the linear program leaves to helpers is taken off the end of every interval.
  void CutOffHelpers() {
    for (Interval& interval : intervals_) {
      interval.helped_from = interval.to;
      if (domains_ == nullptr || interval.star || deliveries_.groups[interval.group].local)
        continue;
      const DeliveryGroup& group = deliveries_.groups[interval.group];
      double helped = 0;
      for (const DomainShare& share : domains_->groups[interval.group].entries) {
        const bool receives = std::ranges::any_of(
            group.domains,
            [&share](const GroupDomain& domain) { return domain.domain == share.domain; });
        if (!receives) helped += share.tree;
      }
      const auto length = static_cast<double>(interval.to - interval.from);
      if (helped * length < static_cast<double>(kMinHeadBytes)) continue;
      interval.helped_from -= AlignDown(static_cast<std::int64_t>(helped * length));
    }
  }

  // Deals each interval out over its domains, each part entering there first and relayed from
  // there: such that the NICs of the ranks that relay, with what they send as holders, are level.
  void DealOutRelays() {
    std::vector<double> loads(resources_.domain.size(), 0.0);
    for (std::size_t g = 0; g < pieces_.size(); ++g) {
      if (deliveries_.groups[g].local) continue;
      const auto copies = static_cast<double>(deliveries_.groups[g].domains.size());
      for (const Piece& piece : pieces_[g]) {
        loads[static_cast<std::size_t>(piece.exit)] +=
            static_cast<double>(piece.size()) * (piece.star ? copies : 1);
      }
    }
    std::vector<SplitRequest> requests;
    for (std::size_t i = 0; i < intervals_.size(); ++i) {
      Interval& interval = intervals_[i];
      SplitRequest request;
      request.bytes = RelayedBytes(interval);
      if (request.bytes > 0) {
        const DeliveryGroup& group = deliveries_.groups[interval.group];
        const std::int64_t worth = (interval.helped_from - interval.from) / group.LeastPartBytes();
        interval.entries = Spread(group.domains.size(),
                                  static_cast<std::size_t>(std::max<std::int64_t>(1, worth)), i);
      }
      for (const std::size_t d : interval.entries) {
        request.candidates.push_back(HeadOf(interval.group, d, interval.from));
      }
      requests.push_back(std::move(request));
    }
    const auto shares = SplitBalanced(requests, resources_.DealtGbps(), loads);
    for (std::size_t i = 0; i < intervals_.size(); ++i) EndParts(shares[i], intervals_[i]);
  }

  // What the heads of an interval send on to other domains, all together.
  std::int64_t RelayedBytes(const Interval& interval) const {
    if (interval.star) return 0;
    const auto domains =
        static_cast<std::int64_t>(deliveries_.groups[interval.group].domains.size());
    return (interval.helped_from - interval.from) * (domains - 1);
  }

  // At most `count` of `size` indices, evenly spread from the one that `turn` picks; ascending.
  static std::vector<std::size_t> Spread(std::size_t size, std::size_t count, std::size_t turn) {
    count = std::min(count, size);
    std::vector<std::size_t> chosen;
    for (std::size_t k = 0; k < count; ++k) chosen.push_back((turn + k * size / count) % size);
    std::ranges::sort(chosen);
    return chosen;
  }

  // Where on the line the part of each entry ends; parts too small to be worth a path of their own
  // go to the largest.
  void EndParts(const std::vector<std::int64_t>& shares, Interval& interval) const {
    const std::size_t domains = deliveries_.groups[interval.group].domains.size();
    if (interval.entries.empty()) {
      interval.entries.assign(1, 0);
      interval.ends.assign(1, interval.helped_from);
      return;
    }
    std::vector<std::int64_t> parts;
    for (const std::int64_t share : shares) {
      const std::int64_t part = AlignDown(share / static_cast<std::int64_t>(domains - 1));
      parts.push_back(part < kMinHeadBytes / 4 ? 0 : part);
    }
    const auto largest =
        static_cast<std::size_t>(std::ranges::max_element(shares) - shares.begin());
    parts[largest] = 0;
    parts[largest] = interval.helped_from - interval.from -
                     std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    std::int64_t at = interval.from;
    for (const std::int64_t part : parts) interval.ends.push_back(at += part);
  }

  void EmitColumns() {
    Cursor cursor;
    std::size_t group = deliveries_.groups.size();
    for (const Interval& interval : intervals_) {
      if (interval.group != group) cursor = {};
      group = interval.group;
      if (interval.star) {
        Advance(group, interval.to, AddPath(StarTree(group, interval.from)), cursor);
        continue;
      }
      std::int64_t start = interval.from;
      for (std::size_t k = 0; k < interval.ends.size(); ++k) {
        if (interval.ends[k] <= start) continue;
        Advance(group, interval.ends[k], AddPath(Tree(group, start, interval.entries[k])), cursor);
        start = interval.ends[k];
      }
      if (start < interval.to) EnterHelpers(interval, start, cursor);
    }
  }

  // The rest of an interval, over helpers in the proportion of the linear program.
  void EnterHelpers(const Interval& interval, std::int64_t from, Cursor& cursor) {
    const DeliveryGroup& group = deliveries_.groups[interval.group];
    std::vector<DomainShare> helpers;
    double total = 0;
    for (const DomainShare& share : domains_->groups[interval.group].entries) {
      if (std::ranges::any_of(group.domains, [&share](const GroupDomain& domain) {
            return domain.domain == share.domain;
          })) {
        continue;
      }
      helpers.push_back(share);
      total += share.tree;
    }
    double sum = 0;
    std::int64_t start = from;
    for (const DomainShare& helper : helpers) {
      sum += helper.tree;
      const std::int64_t stop =
          helper.domain == helpers.back().domain
              ? interval.to
              : from + AlignDown(static_cast<std::int64_t>(static_cast<double>(interval.to - from) *
                                                           sum / total));
      if (stop > start) EnterHelper(interval.group, start, stop, helper.domain, cursor);
      start = std::max(start, stop);
    }
  }

  // Over all NICs of the helper, or over as many as the bytes are worth, the emptiest first.
  void EnterHelper(std::size_t g, std::int64_t from, std::int64_t to, DomainIndex helper,
                   Cursor& cursor) {
    std::vector<RankIndex> ranks;
    for (const RankIndex r : resources_.domains[static_cast<std::size_t>(helper)].ranks) {
      if (resources_.network_gbps[static_cast<std::size_t>(r)] > 0) ranks.push_back(r);
    }
    const auto time = [this](RankIndex r) {
      return helper_load_[static_cast<std::size_t>(r)] /
             resources_.network_gbps[static_cast<std::size_t>(r)];
    };
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](RankIndex a, RankIndex b) { return time(a) < time(b); });
    const auto worth = std::max<std::int64_t>(1, (to - from) / kMinHeadBytes);
    ranks.resize(std::min(ranks.size(), static_cast<std::size_t>(worth)));
    double rate = 0;
    for (const RankIndex r : ranks) rate += resources_.network_gbps[static_cast<std::size_t>(r)];
    double sum = 0;
    std::int64_t start = from;
    for (const RankIndex r : ranks) {
      sum += resources_.network_gbps[static_cast<std::size_t>(r)];
      const std::int64_t stop = r == ranks.back()
                                    ? to
                                    : from + AlignDown(static_cast<std::int64_t>(
                                                 static_cast<double>(to - from) * sum / rate));
      if (stop <= start) continue;
      helper_load_[static_cast<std::size_t>(r)] += static_cast<double>(stop - start);
      DeliveryPath path;
      path.hops.push_back({0, r, kFromSender});
      for (std::size_t d = 0; d < deliveries_.groups[g].domains.size(); ++d) {
        path.hops.push_back({r, HeadOf(g, d, start), 0});
      }
      AddFanOut(g, start, 1, path);
      Advance(g, stop, AddPath(std::move(path)), cursor);
      start = stop;
    }
  }

  // Where in the heads of a group's domain the line is at `position`.
  static std::size_t StretchOf(const HeadCut& cut, std::int64_t position) {
    const auto at = std::ranges::upper_bound(cut.ends, position) - cut.ends.begin();
    return std::min(static_cast<std::size_t>(at), cut.heads.size() - 1);
  }

  RankIndex HeadOf(std::size_t g, std::size_t d, std::int64_t position) const {
    const HeadCut& cut = heads_[g][d];
    return cut.heads[StretchOf(cut, position)];
  }

  // Fan-out in all domains of a group, the head of its domain d standing at hop first + d.
  void AddFanOut(std::size_t g, std::int64_t position, std::size_t first,
                 DeliveryPath& path) const {
    for (std::size_t d = 0; d < deliveries_.groups[g].domains.size(); ++d) {
      FanOut(g, d, position, static_cast<std::int32_t>(first + d), path);
    }
  }

  // The tree of bytes that their sender sends to every domain, where the line is at `position`.
  DeliveryPath StarTree(std::size_t g, std::int64_t position) const {
    DeliveryPath path;
    for (std::size_t d = 0; d < deliveries_.groups[g].domains.size(); ++d) {
      path.hops.push_back({0, HeadOf(g, d, position), kFromSender});
    }
    AddFanOut(g, position, 0, path);
    return path;
  }

  // The tree of bytes that enter the group's domain `first` from their sender.
  DeliveryPath Tree(std::size_t g, std::int64_t position, std::size_t first) const {
    const DeliveryGroup& group = deliveries_.groups[g];
    DeliveryPath path;
    const RankIndex entry = HeadOf(g, first, position);
    path.hops.push_back({0, entry, kFromSender});
    FanOut(g, first, position, 0, path);
    for (std::size_t d = 0; d < group.domains.size(); ++d) {
      if (d == first) continue;
      const RankIndex head = HeadOf(g, d, position);
      const std::int32_t relay = RelayHop(entry, head, path);
      path.hops.push_back({path.hops[static_cast<std::size_t>(relay)].to, head, relay});
      FanOut(g, d, position, static_cast<std::int32_t>(path.hops.size()) - 1, path);
    }
    return path;
  }

  // From the rank that hop `parent` reaches to the other receivers of the group's domain `d`, over
  // its deputy if it has one.
  void FanOut(std::size_t g, std::size_t d, std::int64_t position, std::int32_t parent,
              DeliveryPath& path) const {
    const HeadCut& cut = heads_[g][d];
    const RankIndex head = path.hops[static_cast<std::size_t>(parent)].to;
    const RankIndex deputy = cut.deputies[StretchOf(cut, position)];
    RankIndex from = head;
    if (deputy != kNoDeputy) {
      path.hops.push_back({head, deputy, parent});
      parent = static_cast<std::int32_t>(path.hops.size()) - 1;
      from = deputy;
    }
    for (const RankIndex receiver : deliveries_.groups[g].domains[d].receivers) {
      if (receiver != head && receiver != deputy) path.hops.push_back({from, receiver, parent});
    }
  }

  // The hop from which `head` is relayed to: the entry's own, or where rails do not meet and theirs
  // differ, that of a rank beside the entry on the head's rail.
  std::int32_t RelayHop(RankIndex entry, RankIndex head, DeliveryPath& path) const {
    const RankIndex relay = OnRailOf(head, entry);
    if (relay == entry) return 0;
    for (std::size_t h = 1; h < path.hops.size(); ++h) {
      if (path.hops[h].to == relay) return static_cast<std::int32_t>(h);
    }
    path.hops.push_back({entry, relay, 0});
    return static_cast<std::int32_t>(path.hops.size()) - 1;
  }

  // `rank` itself, or where rails do not meet, a rank of its domain on the rail of `peer`; `rank`
  // again if there is none.
  RankIndex OnRailOf(RankIndex peer, RankIndex rank) const {
    const auto rail = [this](RankIndex r) { return resources_.rail[static_cast<std::size_t>(r)]; };
    if (resources_.rails_meet || rail(peer) == rail(rank)) return rank;
    const DomainIndex domain = resources_.domain[static_cast<std::size_t>(rank)];
    std::vector<RankIndex> aligned;
    for (const RankIndex r : resources_.domains[static_cast<std::size_t>(domain)].ranks) {
      if (rail(r) == rail(peer) && resources_.network_gbps[static_cast<std::size_t>(r)] > 0 &&
          resources_.nvlink_gbps[static_cast<std::size_t>(r)] > 0) {
        aligned.push_back(r);
      }
    }
    if (aligned.empty()) return rank;
    return aligned[static_cast<std::size_t>(rank) % aligned.size()];
  }

  // Columns for the line up to `stop`.
  void Advance(std::size_t g, std::int64_t stop, std::int32_t path, Cursor& cursor) {
    while (cursor.position < stop && cursor.piece < pieces_[g].size()) {
      const Piece& piece = pieces_[g][cursor.piece];
      const std::int64_t left = piece.size() - cursor.used;
      std::int64_t taken = std::min(left, stop - cursor.position);
      // A cut inside a piece is aligned in the class's stream; a few bytes more than asked for.
      if (taken < left) taken = std::min(left, AlignUp(taken));
      AddColumn(g, piece, piece.begin + cursor.used, piece.begin + cursor.used + taken, path);
      cursor.used += taken;
      cursor.position += taken;
      if (cursor.used == piece.size()) {
        ++cursor.piece;
        cursor.used = 0;
      }
    }
  }

  const Deliveries& deliveries_;
  const std::vector<std::vector<Piece>>& pieces_;
  const RankResources& resources_;
  double bound_seconds_;
  const DomainAssignment* domains_;
  LocalFanOut fan_out_;
  std::vector<double> helper_load_;          // bytes, per rank
  std::vector<std::vector<HeadCut>> heads_;  // per group and its domains
  std::vector<Interval> intervals_;
  Routes routes_;
};

}  // namespace

Routes MakeRoutes(const Deliveries& deliveries, const std::vector<std::vector<Piece>>& pieces,
                  const RankResources& resources, double bound_seconds,
                  const DomainAssignment* domains, Exits exits, LocalFanOut fan_out) {
  Routes routes = RouteMaker(deliveries, pieces, resources, bound_seconds, domains, fan_out).Run();
  if (exits == Exits::kShared) ShareExits(deliveries, resources, routes);
  return routes;
}

}  // namespace reshard
