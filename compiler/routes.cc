#include "compiler/routes.h"

#include <algorithm>
#include <numeric>

#include "compiler/water_filling.h"

namespace reshard {
namespace {

// A head takes in at least this much of a group; below it, more heads only mean more operations.
constexpr std::int64_t kMinHeadBytes = std::int64_t{256} << 10;
constexpr double kBytesPerGB = 1e9;
// A receiver is relieved of what exceeds its room by more than this share of its load.
constexpr double kLeastExcess = 0.005;
constexpr double kEntrySlack = 1.0;

class RouteMaker {
 public:
  RouteMaker(const Deliveries& deliveries, const std::vector<std::vector<Piece>>& pieces,
             const RankResources& resources, double bound_seconds, const DomainAssignment* domains)
      : deliveries_(deliveries),
        pieces_(pieces),
        resources_(resources),
        bound_seconds_(bound_seconds),
        domains_(domains),
        helper_load_(resources.domain.size(), 0.0) {}

  Routes Run() {
    ChooseHeads();
    SpareEgress();
    for (std::size_t g = 0; g < deliveries_.groups.size(); ++g) {
      if (deliveries_.groups[g].local && !WantsHeads(g)) {
        Star(g);
      } else {
        CutLine(g);
      }
    }
    return std::move(routes_);
  }

 private:
  // ends[k]: where on the group's line (its pieces, one after another) head k's part ends.
  struct HeadCut {
    std::vector<RankIndex> heads;
    std::vector<std::int64_t> ends;
  };

  struct Cursor {  // on a group's line
    std::size_t piece = 0;
    std::int64_t used = 0;  // of that piece
    std::int64_t position = 0;
  };

  // A local group with more receivers than senders: were every sender to send to each receiver, the
  // senders' NVLinks would carry more than the receivers'.
  bool WantsHeads(std::size_t g) const {
    std::vector<RankIndex> senders;
    for (const Piece& piece : pieces_[g]) senders.push_back(piece.exit);
    std::sort(senders.begin(), senders.end());
    const auto distinct = std::unique(senders.begin(), senders.end()) - senders.begin();
    const DeliveryGroup& group = deliveries_.groups[g];
    const std::size_t receivers = group.domains[0].receivers.size();
    return receivers > static_cast<std::size_t>(distinct) &&
           group.bytes >= kMinHeadBytes * static_cast<std::int64_t>(receivers);
  }

  void ChooseHeads() {
    heads_.resize(deliveries_.groups.size());
    for (std::size_t g = 0; g < heads_.size(); ++g) {
      heads_[g].resize(deliveries_.groups[g].domains.size());
    }
    SplitOverHeads(false, resources_.network_gbps);
    SplitOverHeads(true, resources_.nvlink_gbps);
  }

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
    if (!local) RelieveReceivers(requests, rates, loads, shares);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      HeadCut& cut = heads_[of[i].first][of[i].second];
      std::int64_t at = 0;
      for (std::size_t k = 0; k < shares[i].size(); ++k) {
        if (shares[i][k] == 0) continue;
        at += shares[i][k];
        cut.heads.push_back(requests[i].candidates[k]);
        cut.ends.push_back(at);
      }
    }
  }

  // Receivers that would be busy for longer than the bound, and longer than their domain's mean,
  // leave the excess to ranks of the domain that have room.
  void RelieveReceivers(std::vector<SplitRequest>& requests, const std::vector<double>& rates,
                        const std::vector<double>& loads,
                        std::vector<std::vector<std::int64_t>>& shares) const {
    for (const DomainResources& domain : resources_.domains) {
      if (domain.network_gbps <= 0) continue;
      double total = 0;
      for (const RankIndex r : domain.ranks) total += loads[static_cast<std::size_t>(r)];
      const double level =
          std::max(total / domain.network_gbps, bound_seconds_ * kBytesPerGB) * kEntrySlack;
      std::vector<std::pair<RankIndex, double>> room;
      for (const RankIndex r : domain.ranks) {
        const double spare =
            level * rates[static_cast<std::size_t>(r)] - loads[static_cast<std::size_t>(r)];
        if (spare > 0) room.emplace_back(r, spare);
      }
      std::size_t next = 0;
      for (const RankIndex r : domain.ranks) {
        const double load = loads[static_cast<std::size_t>(r)];
        double excess = load - level * rates[static_cast<std::size_t>(r)];
        if (excess < kLeastExcess * load) continue;
        const double share = excess / load;
        for (std::size_t i = 0; i < requests.size(); ++i) {
          const auto at = std::ranges::find(requests[i].candidates, r);
          if (at == requests[i].candidates.end()) continue;
          const auto k = static_cast<std::size_t>(at - requests[i].candidates.begin());
          auto moved = static_cast<std::int64_t>(static_cast<double>(shares[i][k]) * share) /
                       kSplitAlignmentBytes * kSplitAlignmentBytes;
          while (moved >= kSplitAlignmentBytes && next < room.size()) {
            const auto fits = static_cast<std::int64_t>(room[next].second) / kSplitAlignmentBytes *
                              kSplitAlignmentBytes;
            const std::int64_t part = std::min(moved, fits);
            if (part > 0) {
              requests[i].candidates.push_back(room[next].first);
              shares[i].push_back(part);
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
      if (resources_.network_gbps[static_cast<std::size_t>(r)] > 0 &&
          resources_.nvlink_gbps[static_cast<std::size_t>(r)] > 0) {
        entries.push_back(r);
      }
    }
    return entries;
  }

  // What each domain's NICs can send besides what its holders send at first hand.
  void SpareEgress() {
    spare_.assign(resources_.domains.size(), 0.0);
    for (std::size_t d = 0; d < spare_.size(); ++d) {
      spare_[d] = resources_.domains[d].network_gbps * kBytesPerGB * bound_seconds_;
    }
    for (std::size_t g = 0; g < pieces_.size(); ++g) {
      if (deliveries_.groups[g].local) continue;
      for (const Piece& piece : pieces_[g]) {
        spare_[static_cast<std::size_t>(resources_.domain[static_cast<std::size_t>(piece.exit)])] -=
            static_cast<double>(piece.size());
      }
    }
    for (double& spare : spare_) spare = std::max(spare, 0.0);
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
    routes_.columns.push_back({piece.demand_class, begin, end, piece.holder, piece.exit, path,
                               static_cast<std::int32_t>(g)});
  }

  // Where tree bytes of a group enter first, and in what proportion. Helpers are not among the
  // group's own domains.
  struct Entry {
    DomainIndex domain = 0;
    std::size_t position = 0;  // in the group's domains, or their number for a helper
    double weight = 0;
  };

  std::vector<Entry> Entries(std::size_t g) const {
    const DeliveryGroup& group = deliveries_.groups[g];
    std::vector<Entry> entries;
    if (domains_ != nullptr && !group.local && !domains_->groups[g].entries.empty()) {
      for (const DomainShare& share : domains_->groups[g].entries) {
        std::size_t position = 0;
        while (position < group.domains.size() && group.domains[position].domain != share.domain) {
          ++position;
        }
        entries.push_back({share.domain, position, share.tree});
      }
    } else {
      for (std::size_t d = 0; d < group.domains.size(); ++d) {
        const DomainIndex domain = group.domains[d].domain;
        entries.push_back({domain, d, spare_[static_cast<std::size_t>(domain)]});
      }
    }
    double total = 0;
    for (const Entry& entry : entries) total += entry.weight;
    for (Entry& entry : entries) {
      entry.weight = total > 0 ? entry.weight / total : 1.0 / static_cast<double>(entries.size());
    }
    return entries;
  }

  // The group's line is cut where any domain changes its head, and where star pieces begin; each
  // interval of tree pieces is dealt out over the domains, each part entering there first.
  void CutLine(std::size_t g) {
    std::vector<std::int64_t> cuts;
    for (const HeadCut& cut : heads_[g]) cuts.insert(cuts.end(), cut.ends.begin(), cut.ends.end());
    std::int64_t star_begin = 0;
    for (const Piece& piece : pieces_[g]) star_begin += piece.star ? 0 : piece.size();
    if (star_begin > 0) cuts.push_back(star_begin);
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    const std::vector<Entry> entries = Entries(g);
    Cursor cursor;
    std::int64_t from = 0;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      if (from >= star_begin) {
        Advance(g, cuts[i], AddPath(StarTree(g, from)), cursor);
      } else {
        DealOut(g, from, cuts[i], i, entries, cursor);
      }
      from = cuts[i];
    }
  }

  void DealOut(std::size_t g, std::int64_t from, std::int64_t to, std::size_t turn,
               const std::vector<Entry>& entries, Cursor& cursor) {
    const std::int64_t length = to - from;
    const std::size_t alone = (turn + g) % entries.size();
    double weight = 0;
    std::int64_t start = from;
    for (std::size_t e = 0; e < entries.size(); ++e) {
      weight += entries[e].weight;
      std::int64_t stop = from + static_cast<std::int64_t>(static_cast<double>(length) * weight) /
                                     kSplitAlignmentBytes * kSplitAlignmentBytes;
      if (length < kMinHeadBytes) stop = e < alone ? start : to;
      if (e + 1 == entries.size()) stop = to;
      if (stop <= start) continue;
      if (entries[e].position < deliveries_.groups[g].domains.size()) {
        Advance(g, stop, AddPath(Tree(g, start, entries[e].position)), cursor);
      } else {
        EnterHelper(g, start, stop, entries[e].domain, cursor);
      }
      start = stop;
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
      const std::int64_t stop =
          r == ranks.back()
              ? to
              : from + static_cast<std::int64_t>(static_cast<double>(to - from) * sum / rate) /
                           kSplitAlignmentBytes * kSplitAlignmentBytes;
      if (stop <= start) continue;
      helper_load_[static_cast<std::size_t>(r)] += static_cast<double>(stop - start);
      DeliveryPath path;
      path.hops.push_back({0, r, kFromSender});
      for (std::size_t d = 0; d < deliveries_.groups[g].domains.size(); ++d) {
        path.hops.push_back({r, HeadOf(g, d, start), 0});
      }
      AddFanOut(g, 1, path);
      Advance(g, stop, AddPath(std::move(path)), cursor);
      start = stop;
    }
  }

  RankIndex HeadOf(std::size_t g, std::size_t d, std::int64_t position) const {
    const HeadCut& cut = heads_[g][d];
    const auto at = std::ranges::upper_bound(cut.ends, position) - cut.ends.begin();
    return cut.heads[std::min(static_cast<std::size_t>(at), cut.heads.size() - 1)];
  }

  // From each head to the other receivers of its domain; the head of the group's domain d stands at
  // hop first + d.
  void AddFanOut(std::size_t g, std::size_t first, DeliveryPath& path) const {
    const DeliveryGroup& group = deliveries_.groups[g];
    for (std::size_t d = 0; d < group.domains.size(); ++d) {
      const RankIndex head = path.hops[first + d].to;
      for (const RankIndex receiver : group.domains[d].receivers) {
        if (receiver != head) {
          path.hops.push_back({head, receiver, static_cast<std::int32_t>(first + d)});
        }
      }
    }
  }

  // The tree of bytes that their sender sends to every domain, where the line is at `position`.
  DeliveryPath StarTree(std::size_t g, std::int64_t position) const {
    DeliveryPath path;
    for (std::size_t d = 0; d < deliveries_.groups[g].domains.size(); ++d) {
      path.hops.push_back({0, HeadOf(g, d, position), kFromSender});
    }
    AddFanOut(g, 0, path);
    return path;
  }

  // The tree of bytes that enter the group's domain `first` from their sender.
  DeliveryPath Tree(std::size_t g, std::int64_t position, std::size_t first) const {
    const DeliveryGroup& group = deliveries_.groups[g];
    DeliveryPath path;
    path.hops.push_back({0, HeadOf(g, first, position), kFromSender});
    for (std::size_t d = 0; d < group.domains.size(); ++d) {
      if (d != first) path.hops.push_back({path.hops[0].to, HeadOf(g, d, position), 0});
    }
    std::size_t next = 1;
    for (std::size_t d = 0; d < group.domains.size(); ++d) {
      const std::size_t hop = d == first ? 0 : next++;
      const RankIndex head = path.hops[hop].to;
      for (const RankIndex receiver : group.domains[d].receivers) {
        if (receiver != head) {
          path.hops.push_back({head, receiver, static_cast<std::int32_t>(hop)});
        }
      }
    }
    return path;
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

  static std::int64_t AlignUp(std::int64_t bytes) {
    return (bytes + kSplitAlignmentBytes - 1) / kSplitAlignmentBytes * kSplitAlignmentBytes;
  }

  const Deliveries& deliveries_;
  const std::vector<std::vector<Piece>>& pieces_;
  const RankResources& resources_;
  double bound_seconds_;
  const DomainAssignment* domains_;
  std::vector<double> helper_load_;          // bytes, per rank
  std::vector<std::vector<HeadCut>> heads_;  // per group and its domains
  std::vector<double> spare_;                // bytes, per domain
  Routes routes_;
};

}  // namespace

Routes MakeRoutes(const Deliveries& deliveries, const std::vector<std::vector<Piece>>& pieces,
                  const RankResources& resources, double bound_seconds,
                  const DomainAssignment* domains) {
  return RouteMaker(deliveries, pieces, resources, bound_seconds, domains).Run();
}

}  // namespace reshard
