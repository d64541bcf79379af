#include "compiler/senders.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/water_filling.h"

namespace reshard {
namespace {

// A holder gets at least this much of a class or nothing: below it, more senders only mean more
// operations.
constexpr std::int64_t kMinPieceBytes = std::int64_t{64} << 10;
// NICs busy for less than this share of the bound do not bind.
constexpr double kBindingShare = 0.9;
constexpr double kBytesPerGB = 1e9;

class SenderAssignment {
 public:
  SenderAssignment(const Demand& demand, const Deliveries& deliveries,
                   const RankResources& resources, double bound_seconds)
      : demand_(demand),
        deliveries_(deliveries),
        resources_(resources),
        bound_seconds_(bound_seconds),
        pieces_(deliveries.groups.size()) {}

  std::vector<std::vector<Piece>> Run() {
    network_load_.assign(resources_.domain.size(), 0.0);
    nvlink_load_.assign(resources_.domain.size(), 0.0);
    Split(false, resources_.network_gbps, network_load_);
    Split(true, resources_.nvlink_gbps, nvlink_load_);
    for (std::size_t d = 0; d < resources_.domains.size(); ++d) {
      if (NeedsExits(resources_.domains[d])) {
        EvenOut(static_cast<DomainIndex>(d));
      }
    }
    for (std::vector<Piece>& pieces : pieces_) {
      std::stable_sort(pieces.begin(), pieces.end(),
                       [](const Piece& a, const Piece& b) { return a.exit < b.exit; });
    }
    return std::move(pieces_);
  }

 private:
  void Split(bool local, const std::vector<double>& rates, std::vector<double>& loads) {
    std::vector<SplitRequest> requests;
    std::vector<std::pair<std::size_t, ClassIndex>> of;  // group, class
    for (std::size_t g = 0; g < deliveries_.groups.size(); ++g) {
      const DeliveryGroup& group = deliveries_.groups[g];
      if (group.local != local) continue;
      for (const GroupClass& c : group.classes) {
        const std::int64_t bytes = Bytes(c.demand_class);
        requests.push_back({bytes, Candidates(c, bytes, rates)});
        of.emplace_back(g, c.demand_class);
      }
    }
    const auto shares = SplitBalanced(requests, rates, loads);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::int64_t at = 0;
      for (std::size_t k = 0; k < shares[i].size(); ++k) {
        if (shares[i][k] == 0) continue;
        const RankIndex rank = requests[i].candidates[k];
        pieces_[of[i].first].push_back({of[i].second, at, at + shares[i][k], rank, rank});
        at += shares[i][k];
      }
    }
  }

  std::int64_t Bytes(ClassIndex c) const {
    return demand_.classes[static_cast<std::size_t>(c)].bytes;
  }

  // Holders with a working link; of a small class only as many as its bytes are worth, different
  // ones for different classes.
  std::vector<RankIndex> Candidates(const GroupClass& c, std::int64_t bytes,
                                    const std::vector<double>& rates) const {
    std::vector<RankIndex> able;
    for (const RankIndex h : c.holders) {
      if (rates[static_cast<std::size_t>(h)] > 0) able.push_back(h);
    }
    if (able.empty()) able = c.holders;
    const auto count = static_cast<std::int64_t>(able.size());
    const std::int64_t worth = std::max<std::int64_t>(1, bytes / kMinPieceBytes);
    if (worth >= count) return able;
    std::vector<RankIndex> chosen;
    for (std::int64_t k = 0; k < worth; ++k) {
      chosen.push_back(
          able[static_cast<std::size_t>((c.demand_class + k * count / worth) % count)]);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  bool NeedsExits(const DomainResources& domain) const {
    if (domain.ranks.size() < 2 || domain.network_gbps <= 0) return false;
    double fullest = 0;
    double total = 0;
    for (const RankIndex r : domain.ranks) {
      const double rate = resources_.network_gbps[static_cast<std::size_t>(r)];
      const double load = network_load_[static_cast<std::size_t>(r)];
      total += load;
      if (load > 0) {
        fullest = std::max(fullest, rate > 0 ? load / rate : load / domain.network_gbps * 1e6);
      }
    }
    const double mean = total / domain.network_gbps;
    return fullest > 1.0001 * mean && fullest / kBytesPerGB > kBindingShare * bound_seconds_;
  }

  // Every NIC of the domain sends its share of every group: a rank that would send more of a group
  // hands the rest to ranks that would send less.
  void EvenOut(DomainIndex d) {
    const DomainResources& domain = resources_.domains[static_cast<std::size_t>(d)];
    for (std::size_t g = 0; g < pieces_.size(); ++g) {
      if (deliveries_.groups[g].local) continue;
      std::map<RankIndex, std::int64_t> sent;
      std::int64_t total = 0;
      for (const RankIndex r : domain.ranks) sent[r] = 0;
      for (const Piece& piece : pieces_[g]) {
        if (resources_.domain[static_cast<std::size_t>(piece.holder)] != d) continue;
        sent[piece.holder] += piece.size();
        total += piece.size();
      }
      if (total == 0) continue;
      std::map<RankIndex, std::int64_t> surplus;
      std::vector<std::pair<RankIndex, std::int64_t>> wanting;
      std::int64_t given = 0;
      double rate_sum = 0;
      for (const RankIndex r : domain.ranks) {
        rate_sum += resources_.network_gbps[static_cast<std::size_t>(r)];
        const auto upto =
            static_cast<std::int64_t>(static_cast<double>(total) * rate_sum / domain.network_gbps) /
            kSplitAlignmentBytes * kSplitAlignmentBytes;
        const std::int64_t target = upto - given;
        given = upto;
        if (sent[r] > target) surplus[r] = sent[r] - target;
        if (sent[r] < target) wanting.emplace_back(r, target - sent[r]);
      }
      HandOver(d, surplus, wanting, pieces_[g]);
    }
  }

  void HandOver(DomainIndex d, std::map<RankIndex, std::int64_t>& surplus,
                const std::vector<std::pair<RankIndex, std::int64_t>>& wanting,
                std::vector<Piece>& pieces) {
    std::size_t next = 0;
    std::int64_t room = wanting.empty() ? 0 : wanting[0].second;
    std::vector<Piece> result;
    for (Piece piece : pieces) {
      if (resources_.domain[static_cast<std::size_t>(piece.holder)] != d) {
        result.push_back(piece);
        continue;
      }
      std::int64_t& left = surplus[piece.holder];
      while (left >= kSplitAlignmentBytes && piece.size() > 0 && next < wanting.size()) {
        // Cuts stay aligned in the class's stream; a piece's ragged end goes with its last part.
        std::int64_t moved = std::min({left, room, piece.size()});
        if (moved < piece.size()) moved = moved / kSplitAlignmentBytes * kSplitAlignmentBytes;
        if (moved > 0) {
          result.push_back({piece.demand_class, piece.begin, piece.begin + moved, piece.holder,
                            wanting[next].first});
          piece.begin += moved;
          left -= moved;
          room -= moved;
        }
        if (room < kSplitAlignmentBytes) {
          ++next;
          room = next < wanting.size() ? wanting[next].second : 0;
        } else if (moved == 0) {
          break;
        }
      }
      if (piece.size() > 0) result.push_back(piece);
    }
    pieces = std::move(result);
  }

  const Demand& demand_;
  const Deliveries& deliveries_;
  const RankResources& resources_;
  double bound_seconds_;
  std::vector<std::vector<Piece>> pieces_;
  std::vector<double> network_load_;  // GB/s-free: bytes per rank
  std::vector<double> nvlink_load_;
};

}  // namespace

std::vector<std::vector<Piece>> AssignSenders(const Demand& demand, const Deliveries& deliveries,
                                              const RankResources& resources,
                                              double bound_seconds) {
  return SenderAssignment(demand, deliveries, resources, bound_seconds).Run();
}

}  // namespace reshard
