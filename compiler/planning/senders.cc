#include "compiler/planning/senders.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "compiler/planning/water_filling.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// A holder gets at least this much of a class or nothing: below it, more senders only mean more
// operations.
constexpr std::int64_t kMinPieceBytes = std::int64_t{64} << 10;
// NICs busy for less than this share of the bound do not bind.
constexpr double kBindingShare = 0.9;
// Of a class; less is the solver's rounding.
constexpr double kLeastAssigned = 0.5;
// Shares that miss 1 by less than this are whole.
constexpr double kRoundingShare = 1e-9;

class SenderAssignment {
 public:
  SenderAssignment(const Demand& demand, const Deliveries& deliveries,
                   const RankResources& resources, double bound_seconds,
                   const DomainAssignment* domains, ExitShares shares)
      : demand_(demand),
        deliveries_(deliveries),
        resources_(resources),
        bound_seconds_(bound_seconds),
        domains_(domains),
        shares_(shares),
        pieces_(deliveries.groups.size()) {}

  std::vector<std::vector<Piece>> Run() {
    network_load_.assign(resources_.domain.size(), 0.0);
    nvlink_load_.assign(resources_.domain.size(), 0.0);
    Split(false, resources_.DealtGbps(), network_load_);
    Split(true, resources_.nvlink_gbps, nvlink_load_);
    CountNetworkLoads();
    for (std::size_t d = 0; d < resources_.domains.size(); ++d) {
      if (NeedsExits(resources_.domains[d])) {
        EvenOut(static_cast<DomainIndex>(d));
      }
    }
    LeaveOverWorkingNics();
    for (std::vector<Piece>& pieces : pieces_) {
      std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
        return std::tie(a.star, a.exit) < std::tie(b.star, b.exit);
      });
    }
    return std::move(pieces_);
  }

 private:
  auto HasLinkInside() const {
    return [this](RankIndex r) { return resources_.HasNvlink(r); };
  }

  // A stretch of a class's stream that is split over some of its holders.
  struct Stretch {
    std::size_t group = 0;
    ClassIndex demand_class = 0;
    std::int64_t begin = 0;
    bool star = false;
    SplitRequest request;
  };

  void Split(bool local, const std::vector<double>& rates, std::vector<double>& loads) {
    std::vector<Stretch> stretches;
    for (std::size_t g = 0; g < deliveries_.groups.size(); ++g) {
      const DeliveryGroup& group = deliveries_.groups[g];
      if (group.local != local) continue;
      for (std::size_t i = 0; i < group.classes.size(); ++i) {
        const GroupClass& c = group.classes[i];
        if (!local && IsAssigned(g, i)) {
          AddAssigned(g, i, rates, stretches);
        } else {
          const std::int64_t bytes = Bytes(c.demand_class);
          stretches.push_back({g,
                               c.demand_class,
                               0,
                               false,
                               {bytes, Candidates(c, bytes, group.LeastPartBytes(), rates)}});
        }
      }
    }
    std::vector<SplitRequest> requests;
    requests.reserve(stretches.size());
    for (Stretch& stretch : stretches) requests.push_back(std::move(stretch.request));
    const auto shares = SplitBalanced(requests, rates, loads);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Stretch& stretch = stretches[i];
      std::int64_t at = stretch.begin;
      for (std::size_t k = 0; k < shares[i].size(); ++k) {
        if (shares[i][k] == 0) continue;
        const RankIndex rank = requests[i].candidates[k];
        pieces_[stretch.group].push_back(
            {stretch.demand_class, at, at + shares[i][k], rank, rank, stretch.star});
        at += shares[i][k];
      }
    }
  }

  // Class `i` of group `g`, cut as the domain assignment says: each domain's tree and star bytes.
  void AddAssigned(std::size_t g, std::size_t i, const std::vector<double>& rates,
                   std::vector<Stretch>& stretches) const {
    const GroupClass& c = deliveries_.groups[g].classes[i];
    const std::int64_t bytes = Bytes(c.demand_class);
    const std::vector<DomainShare>& shares = domains_->groups[g].of_class[i];
    double total = 0;
    for (const DomainShare& share : shares) total += share.tree + share.star;
    std::int64_t begin = 0;
    double sum = 0;
    for (const DomainShare& share : shares) {
      for (const bool star : {false, true}) {
        sum += (star ? share.star : share.tree) / total;
        auto end = AlignDown(static_cast<std::int64_t>(sum * static_cast<double>(bytes)));
        end = sum > 1 - kRoundingShare ? bytes : std::clamp(end, begin, bytes);
        if (end == begin) continue;
        const GroupClass there{c.demand_class, InDomain(c.holders, share.domain)};
        stretches.push_back(
            {g,
             c.demand_class,
             begin,
             star,
             {end - begin,
              Candidates(there, end - begin, deliveries_.groups[g].LeastPartBytes(), rates)}});
        begin = end;
      }
    }
  }

  // Whether the assignment deals out class `i` of group `g`: bytes below the solver's tolerance
  // come out of it as nothing.
  bool IsAssigned(std::size_t g, std::size_t i) const {
    if (domains_ == nullptr) return false;
    double total = 0;
    for (const DomainShare& share : domains_->groups[g].of_class[i]) {
      total += share.tree + share.star;
    }
    return total > kLeastAssigned;
  }

  std::int64_t Bytes(ClassIndex c) const {
    return demand_.classes[static_cast<std::size_t>(c)].bytes;
  }

  std::vector<RankIndex> InDomain(const std::vector<RankIndex>& ranks, DomainIndex d) const {
    std::vector<RankIndex> inside;
    for (const RankIndex r : ranks) {
      if (resources_.domain[static_cast<std::size_t>(r)] == d) inside.push_back(r);
    }
    return inside;
  }

  // Holders with a working link; of a small class only as many as its bytes are worth, different
  // ones for different classes.
  std::vector<RankIndex> Candidates(const GroupClass& c, std::int64_t bytes,
                                    std::int64_t least_bytes,
                                    const std::vector<double>& rates) const {
    std::vector<RankIndex> able;
    for (const RankIndex h : c.holders) {
      if (rates[static_cast<std::size_t>(h)] > 0) able.push_back(h);
    }
    if (able.empty()) std::ranges::copy_if(c.holders, std::back_inserter(able), HasLinkInside());
    if (able.empty()) able = c.holders;
    const auto count = static_cast<std::int64_t>(able.size());
    const std::int64_t worth =
        std::max<std::int64_t>(1, bytes / std::max(kMinPieceBytes, least_bytes));
    if (worth >= count) return able;
    std::vector<RankIndex> chosen;
    for (std::int64_t k = 0; k < worth; ++k) {
      chosen.push_back(
          able[static_cast<std::size_t>((c.demand_class + k * count / worth) % count)]);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  void CountNetworkLoads() {
    std::fill(network_load_.begin(), network_load_.end(), 0.0);
    for (std::size_t g = 0; g < pieces_.size(); ++g) {
      if (deliveries_.groups[g].local) continue;
      const auto copies = static_cast<double>(deliveries_.groups[g].domains.size());
      for (const Piece& piece : pieces_[g]) {
        network_load_[static_cast<std::size_t>(piece.exit)] +=
            static_cast<double>(piece.size()) * (piece.star ? copies : 1);
      }
    }
  }

  bool NeedsExits(const DomainResources& domain) const {
    if (domain.ranks.size() < 2 || domain.network_gbps <= 0) return false;
    const double domain_rate = resources_.CountedGbps(domain);
    double fullest = 0;
    double total = 0;
    for (const RankIndex r : domain.ranks) {
      const double rate = resources_.CountedGbps(r);
      const double load = network_load_[static_cast<std::size_t>(r)];
      total += load;
      if (load > 0) {
        fullest = std::max(fullest, rate > 0 ? load / rate : load / domain_rate * 1e6);
      }
    }
    const double mean = total / domain_rate;
    return fullest > 1.0001 * mean && fullest / kBytesPerGB > kBindingShare * bound_seconds_;
  }

  // What is left with ranks that have no NIC at work, because it is too little for anything to bind
  // or for a cut, leaves over the emptiest NIC of the domain.
  void LeaveOverWorkingNics() {
    const auto rate = [this](RankIndex r) {
      return resources_.network_gbps[static_cast<std::size_t>(r)];
    };
    const auto time = [&](RankIndex r) {
      return network_load_[static_cast<std::size_t>(r)] / rate(r);
    };
    CountNetworkLoads();
    for (std::size_t g = 0; g < pieces_.size(); ++g) {
      if (deliveries_.groups[g].local) continue;
      for (Piece& piece : pieces_[g]) {
        if (rate(piece.exit) > 0) continue;
        const auto domain =
            static_cast<std::size_t>(resources_.domain[static_cast<std::size_t>(piece.holder)]);
        for (const RankIndex r : resources_.domains[domain].ranks) {
          if (rate(r) <= 0 || !resources_.HasNvlink(r)) continue;
          if (rate(piece.exit) <= 0 || time(r) < time(piece.exit)) piece.exit = r;
        }
        network_load_[static_cast<std::size_t>(piece.exit)] += static_cast<double>(piece.size());
      }
    }
  }

  // Every NIC of the domain sends its share of every group, or of all together: a rank that would
  // send more hands the rest to ranks that would send less. Ranks without NVLink can do neither.
  void EvenOut(DomainIndex d) {
    const DomainResources& domain = resources_.domains[static_cast<std::size_t>(d)];
    if (shares_ == ExitShares::kOfAll) {
      std::vector<Piece> all;
      std::map<ClassIndex, std::size_t> group_of;  // a class is in one network group at most
      for (std::size_t g = 0; g < pieces_.size(); ++g) {
        if (deliveries_.groups[g].local) continue;
        for (const Piece& piece : pieces_[g]) group_of[piece.demand_class] = g;
        all.insert(all.end(), pieces_[g].begin(), pieces_[g].end());
        pieces_[g].clear();
      }
      for (const bool star : {false, true}) EvenOutGroup(domain, d, star, all);
      for (const Piece& piece : all) pieces_[group_of[piece.demand_class]].push_back(piece);
      return;
    }
    for (std::size_t g = 0; g < pieces_.size(); ++g) {
      if (deliveries_.groups[g].local) continue;
      for (const bool star : {false, true}) EvenOutGroup(domain, d, star, pieces_[g]);
    }
  }

  void EvenOutGroup(const DomainResources& domain, DomainIndex d, bool star,
                    std::vector<Piece>& pieces) {
    const auto mine = [&](const Piece& piece) {
      return piece.star == star && resources_.HasNvlink(piece.holder) &&
             resources_.domain[static_cast<std::size_t>(piece.holder)] == d;
    };
    std::vector<RankIndex> ranks;
    std::ranges::copy_if(domain.ranks, std::back_inserter(ranks), HasLinkInside());
    double rate_total = 0;
    for (const RankIndex r : ranks) rate_total += resources_.CountedGbps(r);
    std::map<RankIndex, std::int64_t> sent;
    std::int64_t total = 0;
    for (const RankIndex r : ranks) sent[r] = 0;
    for (const Piece& piece : pieces) {
      if (!mine(piece)) continue;
      sent[piece.holder] += piece.size();
      total += piece.size();
    }
    if (total == 0 || rate_total <= 0) return;
    std::map<RankIndex, std::int64_t> surplus;
    std::vector<std::pair<RankIndex, std::int64_t>> wanting;
    std::int64_t given = 0;
    double rate_sum = 0;
    for (const RankIndex r : ranks) {
      rate_sum += resources_.CountedGbps(r);
      const std::int64_t upto =
          AlignDown(static_cast<std::int64_t>(static_cast<double>(total) * rate_sum / rate_total));
      const std::int64_t target = upto - given;
      given = upto;
      if (sent[r] > target) surplus[r] = sent[r] - target;
      if (sent[r] < target) wanting.emplace_back(r, target - sent[r]);
    }
    // Ranks that lack the bytes come first: they get them but once
    // (compiler/planning/shared_exits.h).
    HandOver(
        mine, [&](const Piece& piece, RankIndex r) { return Lacks(piece, d, r); }, surplus, wanting,
        pieces);
    HandOver(
        mine, [](const Piece&, RankIndex) { return true; }, surplus, wanting, pieces);
  }

  // Whether `rank` of domain `d` is to have the piece's bytes from a rank beside it.
  bool Lacks(const Piece& piece, DomainIndex d, RankIndex rank) {
    if (lacking_.empty()) {
      lacking_.try_emplace({-1, -1});
      for (const DeliveryGroup& group : deliveries_.groups) {
        if (!group.local) continue;
        for (const GroupClass& c : group.classes) {
          lacking_[{c.demand_class, group.domains[0].domain}] = group.domains[0].receivers;
        }
      }
    }
    const auto of_class = lacking_.find({piece.demand_class, d});
    return of_class != lacking_.end() && std::ranges::binary_search(of_class->second, rank);
  }

  // Pieces that `mine` selects and that leave over their holder, as far as it has a surplus, to
  // those who want bytes and whom `suits` lets have them.
  template <typename Selector, typename Suitable>
  void HandOver(const Selector& mine, const Suitable& suits,
                std::map<RankIndex, std::int64_t>& surplus,
                std::vector<std::pair<RankIndex, std::int64_t>>& wanting,
                std::vector<Piece>& pieces) {
    std::vector<Piece> result;
    for (Piece piece : pieces) {
      if (!mine(piece) || piece.exit != piece.holder) {
        result.push_back(piece);
        continue;
      }
      std::int64_t& left = surplus[piece.holder];
      for (auto& [rank, room] : wanting) {
        if (left < kSplitAlignmentBytes || piece.size() == 0) break;
        if (room < kSplitAlignmentBytes || !suits(piece, rank)) continue;
        // Cuts stay aligned in the class's stream; a piece's ragged end goes with its last part.
        std::int64_t moved = std::min({left, room, piece.size()});
        if (moved < piece.size()) moved = AlignDown(moved);
        if (moved == 0) continue;
        result.push_back(
            {piece.demand_class, piece.begin, piece.begin + moved, piece.holder, rank, piece.star});
        piece.begin += moved;
        left -= moved;
        room -= moved;
      }
      if (piece.size() > 0) result.push_back(piece);
    }
    pieces = std::move(result);
  }

  const Demand& demand_;
  const Deliveries& deliveries_;
  const RankResources& resources_;
  double bound_seconds_;
  const DomainAssignment* domains_;
  ExitShares shares_;
  std::vector<std::vector<Piece>> pieces_;
  // Receivers of local groups, by class and domain; made when first asked for.
  std::map<std::pair<ClassIndex, DomainIndex>, std::vector<RankIndex>> lacking_;
  std::vector<double> network_load_;  // bytes per rank
  std::vector<double> nvlink_load_;
};

}  // namespace

std::vector<std::vector<Piece>> AssignSenders(const Demand& demand, const Deliveries& deliveries,
                                              const RankResources& resources, double bound_seconds,
                                              const DomainAssignment* domains, ExitShares shares) {
  return SenderAssignment(demand, deliveries, resources, bound_seconds, domains, shares).Run();
}

std::vector<std::vector<Piece>> SentDirectly(std::vector<std::vector<Piece>> pieces,
                                             const Deliveries& deliveries,
                                             const RankResources& resources, double bound_seconds) {
  const auto copies = [&](std::size_t g) {
    return static_cast<double>(deliveries.groups[g].domains.size());
  };
  std::vector<double> loads(resources.domain.size(), 0.0);
  for (std::size_t g = 0; g < pieces.size(); ++g) {
    if (deliveries.groups[g].local) continue;
    for (const Piece& piece : pieces[g]) {
      loads[static_cast<std::size_t>(piece.exit)] +=
          static_cast<double>(piece.size()) * (piece.star ? copies(g) : 1);
    }
  }
  for (std::size_t g = 0; g < pieces.size(); ++g) {
    if (deliveries.groups[g].local || deliveries.groups[g].domains.size() < 2) continue;
    for (Piece& piece : pieces[g]) {
      const auto exit = static_cast<std::size_t>(piece.exit);
      const double more = static_cast<double>(piece.size()) * (copies(g) - 1);
      const double room = bound_seconds * resources.network_gbps[exit] * kBytesPerGB - loads[exit];
      if (piece.star || more > room) continue;
      piece.star = true;
      loads[exit] += more;
    }
    std::ranges::stable_sort(pieces[g], [](const Piece& a, const Piece& b) {
      return std::tie(a.star, a.exit) < std::tie(b.star, b.exit);
    });
  }
  return pieces;
}

std::vector<std::vector<Piece>> Striped(const std::vector<std::vector<Piece>>& pieces,
                                        std::int64_t stripes) {
  std::vector<std::vector<Piece>> result;
  for (const std::vector<Piece>& group : pieces) {
    std::map<std::pair<bool, RankIndex>, std::int64_t> bytes;  // per kind and exit
    for (const Piece& piece : group) bytes[{piece.star, piece.exit}] += piece.size();
    std::map<std::pair<bool, RankIndex>, std::int64_t> at;
    std::vector<std::pair<std::int64_t, Piece>> parts;  // with its stripe
    for (Piece piece : group) {
      const std::int64_t total = bytes[{piece.star, piece.exit}];
      std::int64_t& position = at[{piece.star, piece.exit}];
      const std::int64_t length = std::max(kMinPieceBytes, AlignUp(CeilDivide(total, stripes)));
      while (piece.size() > 0) {
        const std::int64_t stripe = position / length;
        std::int64_t taken = std::min(piece.size(), (stripe + 1) * length - position);
        // Cuts are aligned in the class's stream; a ragged end stays with what is before it.
        if (taken < piece.size()) {
          taken = std::min(piece.size(), AlignUp(taken));
        }
        Piece part = piece;
        part.end = piece.begin + taken;
        parts.emplace_back(stripe, part);
        piece.begin += taken;
        position += taken;
      }
    }
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
      return std::tie(a.second.star, a.first, a.second.exit) <
             std::tie(b.second.star, b.first, b.second.exit);
    });
    std::vector<Piece>& line = result.emplace_back();
    for (const auto& [stripe, part] : parts) line.push_back(part);
  }
  return result;
}

}  // namespace reshard
