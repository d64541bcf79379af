#include "compiler/planning/variant_search.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/planning/channel_choice.h"
#include "compiler/planning/delivery_trees.h"
#include "compiler/planning/egress_assignment.h"
#include "compiler/planning/rounds.h"
#include "compiler/planning/routes.h"
#include "compiler/planning/senders.h"
#include "compiler/planning/shape_search.h"
#include "compiler/planning/tree_routes.h"
#include "compiler/planning/turns.h"

namespace reshard {
namespace {

// The most bytes any rank's NICs carry one way.
std::int64_t PeakNetworkBytes(const Routes& routes, const RankResources& resources) {
  std::vector<std::int64_t> in(resources.domain.size(), 0);
  std::vector<std::int64_t> out(resources.domain.size(), 0);
  for (const RoutedColumn& column : routes.columns) {
    for (const PathHop& hop : routes.paths[static_cast<std::size_t>(column.path)].hops) {
      const RankIndex from = hop.parent == kFromSender ? column.exit : hop.from;
      if (resources.domain[static_cast<std::size_t>(from)] ==
          resources.domain[static_cast<std::size_t>(hop.to)]) {
        continue;
      }
      out[static_cast<std::size_t>(from)] += column.end - column.begin;
      in[static_cast<std::size_t>(hop.to)] += column.end - column.begin;
    }
  }
  std::int64_t peak = 0;
  for (const std::int64_t bytes : in) peak = std::max(peak, bytes);
  for (const std::int64_t bytes : out) peak = std::max(peak, bytes);
  return peak;
}

// Predicted times this near the bound are not worth another try; plans of more transfers than the
// second are not tried in variants.
constexpr double kNearEnough = 1.02;
constexpr std::size_t kMostTransfers = 5'000;
constexpr std::int64_t kMostStripes = 8;
// Nor are other sendings, whose shapes are searched anew, in plans of more slot items than this.
constexpr std::size_t kMostItems = 20'000;
// Where NICs alone limit a refit that is shorter, it is rounds that it loses its time to, not what
// trees could help.
constexpr double kShortSeconds = 0.005;
// More channels a peer cost memory of NCCL's for every peer: they are for plans that are so much
// faster with them.
constexpr double kWorthChannels = 0.99;
// Of TreeSearchSize(): beyond it trees are sought only where nothing else does.
constexpr double kMostTreeSearch = 200'000;
// In plans too large to be tried in variants, what kinds of routes there are is still predicted to
// choose from, but not for more ranks than this.
constexpr std::size_t kMostPredictedRanks = 2'048;

// What a planner fills in.
struct Schedule {
  std::vector<Profile> profiles;
  std::vector<Column> columns;
  std::vector<Transfer> transfers;
  std::vector<RankSchedule> schedules;
  RoundIndex round_count = 0;

  void Swap(Plan& plan) {
    std::swap(profiles, plan.profiles);
    std::swap(columns, plan.columns);
    std::swap(transfers, plan.transfers);
    std::swap(schedules, plan.schedules);
    std::swap(round_count, plan.round_count);
  }
};

// What each domain sends, and who in it.
struct Sending {
  const DomainAssignment* domains = nullptr;
  std::vector<std::vector<Piece>> pieces;
};

// Whether most of what ranks receive comes from ranks of their own domains, to several each.
bool IsMostlyLocal(const Deliveries& deliveries) {
  std::int64_t all = 0;
  std::int64_t local = 0;
  for (const DeliveryGroup& group : deliveries.groups) {
    for (const GroupDomain& domain : group.domains) {
      const std::int64_t bytes = group.bytes * static_cast<std::int64_t>(domain.receivers.size());
      all += bytes;
      if (group.local && domain.receivers.size() > 1) local += bytes;
    }
  }
  return 2 * local > all;
}

class VariantSearch {
 public:
  // `choosing`: what is too large to be tried in variants is still predicted, for there are several
  // searches or kinds of routes to choose from.
  VariantSearch(const CostModel& cost_model, const Deliveries& deliveries,
                const RankResources& resources, const RailBundles& bundles, double bound_seconds,
                const DomainAssignment* domains, bool choosing, Plan& plan)
      : cost_model_(cost_model),
        deliveries_(deliveries),
        resources_(resources),
        bundles_(bundles),
        bound_seconds_(bound_seconds),
        domains_(domains),
        mostly_local_(resources.domain.size() <= kMostPredictedRanks && IsMostlyLocal(deliveries)),
        choosing_(choosing || mostly_local_ || bundles.limited()),
        plan_(plan) {}

  // Fails, or has a best. Without trees only what knows nothing of the fabric is tried.
  Result<void> Run(bool with_trees) {
    Result<void> found = !with_trees          ? TryVariants()
                         : bundles_.limited() ? SearchOnFabric()
                                              : SearchOnNics();
    channels_ = plan_.channels.channels_per_net_peer;
    return kept_ ? Result<void>() : found;
  }

  bool HasBest() const { return kept_; }
  bool IsEnough() const { return few_peers_ && choice_.seconds <= bound_seconds_ * kNearEnough; }
  bool IsBetterThan(const VariantSearch& other) const {
    return few_peers_ != other.few_peers_ ? few_peers_ : choice_.seconds < other.choice_.seconds;
  }
  void LowerBest() {
    best_.Swap(plan_);
    plan_.channels.channels_per_net_peer = channels_;
  }

 private:
  struct Variant {
    std::int64_t stripes = 1;
    std::size_t phases = kMostPhases;
    std::size_t sending = 0;
    Exits exits = Exits::kShared;
    LocalFanOut fan_out = LocalFanOut::kFromFew;
    bool operator==(const Variant&) const = default;
  };

  // Where only NICs limit what passes between domains.
  Result<void> SearchOnNics() {
    Result<void> by_variants = TryVariants();
    if (kept_ && !IsEnough() && best_.transfers.size() <= kMostTransfers &&
        bound_seconds_ >= kShortSeconds &&
        TreeSearchSize(deliveries_, resources_, bundles_) <= kMostTreeSearch) {
      static_cast<void>(SearchTrees());
    }
    return by_variants;
  }

  // Where the fabric does, delivery trees first. What knows nothing of it may be as good where all
  // domains are alike, and may not be possible at all elsewhere.
  Result<void> SearchOnFabric() {
    const bool large = TreeSearchSize(deliveries_, resources_, bundles_) > kMostTreeSearch;
    Result<void> by_trees;
    if (!large) {
      by_trees = SearchTrees();
      if (kept_ && IsEnough()) return {};
    }
    Result<void> by_variants = TryVariants();
    if (by_variants) return by_variants;
    if (large) by_trees = SearchTrees();
    return by_trees ? by_variants : by_trees;
  }

  Result<void> SearchTrees() {
    Result<DeliveryTrees> trees =
        FindDeliveryTrees(deliveries_, plan_.demand, resources_, bundles_);
    if (!trees) return tl::unexpected(trees.error());
    std::vector<std::vector<Piece>> pieces =
        AssignSenders(plan_.demand, deliveries_, resources_, bound_seconds_, domains_);
    for (std::size_t g = 0; g < pieces.size(); ++g) {
      if (!deliveries_.groups[g].local) pieces[g].clear();
    }
    const Routes local =
        MakeRoutes(deliveries_, pieces, resources_, bound_seconds_, domains_, Exits::kApart);
    const auto routes_of = [&](std::int64_t stripes) {
      return MakeTreeRoutes(deliveries_, plan_.demand, resources_, bundles_, *trees, bound_seconds_,
                            local, stripes);
    };
    Routes routes = routes_of(1);
    Phases phases = MakePhases(deliveries_, routes, resources_, bound_seconds_);
    if (const Result<double> searched = Search(routes, phases); !searched) {
      return tl::unexpected(searched.error());
    }
    std::int64_t best = 1;
    for (std::int64_t stripes = 2; stripes <= kMostStripes && !IsEnough(); stripes *= 2) {
      routes = routes_of(stripes);
      phases = MakePhases(deliveries_, routes, resources_, bound_seconds_);
      Result<std::optional<ShapeChoice>> found =
          TryShape(cost_model_, deliveries_, routes, phases, choice_, plan_);
      if (found && found->has_value() && Keep(**found)) best = stripes;
    }
    if (IsEnough() || best_.transfers.size() > kMostTransfers) return {};
    routes = routes_of(best);
    if (best > 1) {
      static_cast<void>(
          Search(routes, MakePhases(deliveries_, routes, resources_, bound_seconds_)));
    }
    static_cast<void>(
        Search(routes, MakePhases(deliveries_, routes, resources_, bound_seconds_, 1)));
    if (IsEnough()) return {};
    const std::optional<Turns> turns = TakeTurns(routes, deliveries_, resources_);
    if (turns) static_cast<void>(Search(turns->routes, turns->phases));
    return {};
  }

  Result<void> TryVariants() {
    Variant first;
    if (Result<void> searched = SearchFirst(first); !searched) return searched;
    Result<bool> widened = WidenPeers();
    if (!widened) return tl::unexpected(widened.error());
    if (*widened) {
      if (const Result<double> searched = Search(first); !searched) {
        return tl::unexpected(searched.error());
      }
    }
    if (!IsEnough() && best_.transfers.size() <= kMostTransfers) {
      Variant next = first;
      if (HasSharedExits(first)) {
        Variant apart = first;
        apart.exits = Exits::kApart;
        if (Result<void> tried = Try(apart, next); !tried) return tried;
      }
      if (domains_ == nullptr) {
        egress_ = AssignEgress(deliveries_, plan_.demand, resources_);
        AddSending(&egress_);
        Variant level = next;
        level.sending = sendings_.size() - 1;
        if (Result<void> tried = Try(level, next); !tried) return tried;
      }
      for (std::int64_t stripes = 2; stripes <= kMostStripes; stripes *= 2) {
        Variant striped = next;
        striped.stripes = stripes;
        if (Result<void> tried = Try(striped, next); !tried) return tried;
      }
      Variant one_phase = next;
      one_phase.phases = 1;
      if (Result<void> tried = Try(one_phase, next); !tried) return tried;
      if (next != first && !IsEnough()) {
        if (const Result<double> searched = Search(next); !searched) {
          return tl::unexpected(searched.error());
        }
      }
      TrySendings(next);
      SearchTurns(next);
    }
    return {};
  }

  // As many channels a peer as fill a NIC may be too few for NVLink: over a peer's channels no flow
  // is faster than their share of it. True if the plan kept so far is better off with more.
  Result<bool> WidenPeers() {
    if (IsEnough() || choice_.seconds <= 0 || best_.transfers.size() > kMostTransfers) return false;
    std::int64_t& channels = plan_.channels.channels_per_net_peer;
    const std::int64_t most = cost_model_.Channels().channels;
    std::int64_t best = channels;
    best_.Swap(plan_);
    while (channels > 0 && channels * 2 <= most) {
      channels *= 2;
      const Result<double> seconds = cost_model_.PredictSeconds(plan_);
      if (!seconds) return tl::unexpected(seconds.error());
      if (*seconds > kWorthChannels * choice_.seconds) continue;
      choice_.seconds = *seconds;
      best = channels;
    }
    best_.Swap(plan_);
    std::swap(channels, best);
    return channels != best;
  }

  // Sets `first` to what the other variants are of.
  Result<void> SearchFirst(Variant& first) {
    AddSending(domains_);
    Result<double> seconds = tl::unexpected(Error{});
    if (mostly_local_) {
      first.fan_out = LocalFanOut::kFromReceivers;
      seconds = Search(first);
      if (seconds && IsEnough()) return {};
    }
    Variant from_few = first;
    from_few.fan_out = LocalFanOut::kFromFew;
    const Result<double> found = Search(from_few);
    if (!found && !seconds) return tl::unexpected(found.error());
    if (found && (!seconds || *found < *seconds)) first = from_few;
    return {};
  }

  void AddSending(const DomainAssignment* domains, ExitShares shares = ExitShares::kOfEach) {
    sendings_.push_back({domains, AssignSenders(plan_.demand, deliveries_, resources_,
                                                bound_seconds_, domains, shares)});
  }

  Routes RoutesOf(const Variant& variant) const {
    const Sending& sending = sendings_[variant.sending];
    return MakeRoutes(deliveries_, Striped(sending.pieces, variant.stripes), resources_,
                      bound_seconds_, sending.domains, variant.exits, variant.fan_out);
  }

  // Exits that share all groups together, and copies sent without relays where there is room.
  void TrySendings(Variant& best) {
    std::size_t items = 0;
    for (const RankSchedule& schedule : best_.schedules) {
      for (const Slot& slot : schedule.slots) items += slot.items.size();
    }
    if (IsEnough() || items > kMostItems) return;
    const DomainAssignment* domains = sendings_[best.sending].domains;
    const auto has_exits = [](const std::vector<Piece>& pieces) {
      return std::ranges::any_of(pieces,
                                 [](const Piece& piece) { return piece.exit != piece.holder; });
    };
    if (std::ranges::any_of(sendings_[best.sending].pieces, has_exits)) {
      AddSending(domains, ExitShares::kOfAll);
      TrySending(best);
      if (IsEnough()) return;
    }
    std::vector<std::vector<Piece>> direct =
        SentDirectly(sendings_[best.sending].pieces, deliveries_, resources_, bound_seconds_);
    if (direct == sendings_[best.sending].pieces) return;
    sendings_.push_back({domains, std::move(direct)});
    TrySending(best);
  }

  // With a shape of its own: fewer hops want fewer rounds. It may need more staging than there is;
  // then it is no choice.
  void TrySending(Variant& best) {
    Variant next = best;
    next.sending = sendings_.size() - 1;
    const double seconds = choice_.seconds;
    static_cast<void>(Search(next));
    if (choice_.seconds < seconds) best = next;
  }

  bool HasSharedExits(const Variant& variant) const {
    return std::ranges::any_of(RoutesOf(variant).columns, [](const RoutedColumn& column) {
      return column.local_group != kNoLocalGroup;
    });
  }

  Result<double> Search(const Variant& variant) {
    const Routes routes = RoutesOf(variant);
    return Search(routes,
                  MakePhases(deliveries_, routes, resources_, bound_seconds_, variant.phases));
  }

  // The routes of `variant` and the least striped ones, in turns. That many turns may need more
  // staging than there is; then they are no choice.
  void SearchTurns(const Variant& variant) {
    for (const std::int64_t stripes : std::set<std::int64_t>{1, variant.stripes}) {
      if (IsEnough()) return;
      Variant of = variant;
      of.stripes = stripes;
      const std::optional<Turns> turns = TakeTurns(RoutesOf(of), deliveries_, resources_);
      if (turns) static_cast<void>(Search(turns->routes, turns->phases));
    }
  }

  // The predicted time, 0 if it is too large to be predicted.
  Result<double> Search(const Routes& routes, const Phases& phases) {
    Result<ShapeChoice> found =
        SearchShapes(cost_model_, deliveries_, routes, phases, PeakNetworkBytes(routes, resources_),
                     bound_seconds_ * kNearEnough, plan_);
    if (!found) return tl::unexpected(found.error());
    if (found->seconds <= 0 && choosing_) {
      // Too large to be tried in several shapes; but there are kinds of routes to choose from.
      const Result<double> seconds = cost_model_.PredictSeconds(plan_);
      if (!seconds) return tl::unexpected(seconds.error());
      found->seconds = *seconds;
    }
    Keep(*found);
    return found->seconds;
  }

  // With the best shape so far; `best` becomes this variant if it is better.
  Result<void> Try(const Variant& variant, Variant& best) {
    if (IsEnough()) return {};
    const Routes routes = RoutesOf(variant);
    const Phases phases =
        MakePhases(deliveries_, routes, resources_, bound_seconds_, variant.phases);
    Result<std::optional<ShapeChoice>> found =
        TryShape(cost_model_, deliveries_, routes, phases, choice_, plan_);
    if (!found) return tl::unexpected(found.error());
    if (found->has_value() && Keep(**found)) best = variant;
    return {};
  }

  // More stripes mean more peers: what keeps to options.maxPeers comes before what does not, then
  // what is faster.
  bool Keep(const ShapeChoice& choice) {
    const std::int64_t most_peers = plan_.job.options.max_peers;
    const bool predicted = choice.seconds > 0;  // not if it is too large to be worth that
    const bool faster = predicted && choice.seconds < choice_.seconds;
    if (kept_ && !faster && few_peers_) return false;
    const bool few_peers = most_peers == 0 || CountPeers(plan_) <= most_peers;
    if (kept_ && (few_peers != few_peers_ ? few_peers_ : !faster)) return false;
    kept_ = true;
    few_peers_ = few_peers;
    choice_ = choice;
    best_.Swap(plan_);
    return true;
  }

  const CostModel& cost_model_;
  const Deliveries& deliveries_;
  const RankResources& resources_;
  const RailBundles& bundles_;
  double bound_seconds_;
  const DomainAssignment* domains_;
  bool mostly_local_;
  bool choosing_;
  DomainAssignment egress_;
  std::vector<Sending> sendings_;
  Plan& plan_;
  bool kept_ = false;
  bool few_peers_ = false;  // what is kept has no more peers than the options allow
  ShapeChoice choice_;
  std::int64_t channels_ = 0;  // of the best
  Schedule best_;
};

}  // namespace

Result<void> SearchVariants(const CostModel& cost_model, const Deliveries& deliveries,
                            const RankResources& resources, const RankResources* alike,
                            const RailBundles& bundles, double bound_seconds,
                            const DomainAssignment* domains, Plan& plan) {
  if (resources.domain.size() > kMostPredictedRanks) alike = nullptr;
  VariantSearch as_is(cost_model, deliveries, resources, bundles, bound_seconds, domains,
                      alike != nullptr, plan);
  if (alike == nullptr) {
    Result<void> found = as_is.Run(true);
    if (found) as_is.LowerBest();
    return found;
  }
  const std::int64_t channels = plan.channels.channels_per_net_peer;
  plan.channels.channels_per_net_peer = ChooseChannelsPerNetPeer(*alike, cost_model.Channels());
  VariantSearch as_alike(cost_model, deliveries, *alike, bundles, bound_seconds, nullptr, true,
                         plan);
  static_cast<void>(as_alike.Run(false));  // which may not be possible at all
  if (as_alike.HasBest() && as_alike.IsEnough()) {
    as_alike.LowerBest();
    return {};
  }
  plan.channels.channels_per_net_peer = channels;
  Result<void> found = as_is.Run(true);
  if (!found && !as_alike.HasBest()) return found;
  const bool alike_wins = as_alike.HasBest() && (!as_is.HasBest() || as_alike.IsBetterThan(as_is));
  (alike_wins ? as_alike : as_is).LowerBest();
  return {};
}

}  // namespace reshard
