#include "compiler/routes.h"

#include <algorithm>
#include <numeric>

#include "compiler/water_filling.h"

namespace reshard {
namespace {

// A head takes in at least this much of a group; below it, more heads only mean more operations.
constexpr std::int64_t kMinHeadBytes = std::int64_t{256} << 10;
constexpr double kBytesPerGB = 1e9;

class RouteMaker {
 public:
  RouteMaker(const Deliveries& deliveries, const std::vector<std::vector<Piece>>& pieces,
             const RankResources& resources, double bound_seconds)
      : deliveries_(deliveries),
        pieces_(pieces),
        resources_(resources),
        bound_seconds_(bound_seconds) {}

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
    const auto shares = SplitBalanced(requests, rates, loads);
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

  std::vector<RankIndex> Candidates(const DeliveryGroup& group, std::size_t d, std::size_t g,
                                    const std::vector<double>& rates) const {
    std::vector<RankIndex> able;
    for (const RankIndex r : group.domains[d].receivers) {
      if (rates[static_cast<std::size_t>(r)] > 0) able.push_back(r);
    }
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

  // The group's line is cut where any domain changes its head; each interval between cuts is dealt
  // out over the domains, each part entering there first.
  void CutLine(std::size_t g) {
    const DeliveryGroup& group = deliveries_.groups[g];
    std::vector<std::int64_t> cuts;
    for (const HeadCut& cut : heads_[g]) cuts.insert(cuts.end(), cut.ends.begin(), cut.ends.end());
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<double> weights;
    for (const GroupDomain& domain : group.domains) {
      weights.push_back(spare_[static_cast<std::size_t>(domain.domain)]);
    }
    double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (total <= 0) {
      std::fill(weights.begin(), weights.end(), 1.0);
      total = static_cast<double>(weights.size());
    }
    Cursor cursor;
    std::int64_t from = 0;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const std::int64_t length = cuts[i] - from;
      const bool deal = length >= kMinHeadBytes;
      double weight = 0;
      std::int64_t start = from;
      for (std::size_t d = 0; d < group.domains.size(); ++d) {
        weight += weights[d];
        std::int64_t stop =
            from + static_cast<std::int64_t>(static_cast<double>(length) * weight / total) /
                       kSplitAlignmentBytes * kSplitAlignmentBytes;
        if (!deal) stop = d == (i + g) % group.domains.size() ? cuts[i] : start;
        if (d + 1 == group.domains.size()) stop = cuts[i];
        if (stop <= start) continue;
        const std::int32_t path = AddPath(Tree(g, start, d));
        Advance(g, stop, path, cursor);
        start = stop;
      }
      from = cuts[i];
    }
  }

  // The tree of bytes that enter the group's domain `first` from their sender, where the line is at
  // `position`.
  DeliveryPath Tree(std::size_t g, std::int64_t position, std::size_t first) const {
    const DeliveryGroup& group = deliveries_.groups[g];
    DeliveryPath path;
    const auto head_of = [&](std::size_t d) {
      const HeadCut& cut = heads_[g][d];
      const auto at = std::ranges::upper_bound(cut.ends, position) - cut.ends.begin();
      return cut.heads[static_cast<std::size_t>(at)];
    };
    path.hops.push_back({0, head_of(first), kFromSender});
    for (std::size_t d = 0; d < group.domains.size(); ++d) {
      if (d != first) path.hops.push_back({path.hops[0].to, head_of(d), 0});
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

  struct Cursor {  // on a group's line
    std::size_t piece = 0;
    std::int64_t used = 0;  // of that piece
    std::int64_t position = 0;
  };

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
  std::vector<std::vector<HeadCut>> heads_;  // per group and its domains
  std::vector<double> spare_;                // bytes, per domain
  Routes routes_;
};

}  // namespace

Routes MakeRoutes(const Deliveries& deliveries, const std::vector<std::vector<Piece>>& pieces,
                  const RankResources& resources, double bound_seconds) {
  return RouteMaker(deliveries, pieces, resources, bound_seconds).Run();
}

}  // namespace reshard
