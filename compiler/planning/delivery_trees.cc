#include "compiler/planning/delivery_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compiler/planning/domain_ways.h"
#include "compiler/planning/door_costs.h"
#include "compiler/planning/least_arborescence.h"
#include "compiler/planning/linear_program.h"
#include "compiler/planning/water_filling.h"

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

// Preferences among trees that cost nothing more, far below what a second is worth: few relays,
// nothing across rails, no helpers.
constexpr double kRelayCost = 1e-5;
constexpr double kCrossingCost = 3e-5;
constexpr double kHelperCost = 1e-4;
// Of an NVLink hop where no receiver or no holder is on the rails.
constexpr double kHopCost = 2e-5;
// Trees are sought until the solution is within this share of what any tree could reach.
constexpr double kNearEnough = 2e-3;
constexpr int kMostIterations = 80;
// Lexicographic levels: what binds, then what binds of the rest, and so on. A resource binds whose
// time is this share of the value; it may then take a little longer, which keeps the program away
// from where only one solution is left.
constexpr int kLevels = 3;
constexpr double kBinds = 1e-4;
constexpr double kReleased = 1.001;
// Bytes of a type below this share go by its other trees.
constexpr double kLeastShare = 2e-3;
// Deeper trees than two levels must be cheaper by this share.
constexpr double kDeeper = 0.995;
// Receiving domains beyond which only trees of two levels are sought.
constexpr std::size_t kMostForDeepTrees = 24;
constexpr std::size_t kMostForHelpers = 12;  // domains beyond which helpers are in two levels only
constexpr DomainIndex kNoHelper = -1;
// Rates below this share of the fastest may be more than the solver can hold together.
constexpr double kLeastRateShare = 1e-12;

class TreeSearch {
 public:
  TreeSearch(const Deliveries& deliveries, const Demand& demand, const RankResources& resources,
             const RailBundles& bundles)
      : deliveries_(deliveries),
        demand_(demand),
        resources_(resources),
        bundles_(bundles),
        domain_count_(resources.domains.size()),
        ways_(bundles, domain_count_, kCrossingCost),
        doors_(deliveries, demand, resources, bundles, ways_, kHopCost) {}

  Result<DeliveryTrees> Run() {
    CollectTraffic();
    if (result_.traffic.empty()) return std::move(result_);
    for (const double rate : bundles_.rates()) fastest_ = std::max(fastest_, rate);
    // All resources at one price a second, to begin with.
    prices_.clear();
    for (const double rate : bundles_.rates()) prices_.push_back(rate > 0 ? fastest_ / rate : 0);
    MakeRows();
    if (Result<void> started = AddFirstTrees(); !started) return tl::unexpected(started.error());
    std::optional<LinearProgram::Solution> solution = SolveWithTrees();
    if (!solution) return Unsolved();
    result_.seconds = solution->variables[0] * total_bytes_ / (fastest_ * kBytesPerGB);
    for (int level = 1; level < kLevels; ++level) {
      if (!ReleaseBinding(*solution)) break;
      std::optional<LinearProgram::Solution> even = SolveWithTrees();
      if (!even) break;
      solution = std::move(even);
    }
    Read(*solution);
    return std::move(result_);
  }

 private:
  struct Candidate {
    double cost = kNoWay;
    DeliveryTree tree;
  };

  // Of the trees so far, then with those that lower it, as far as it is worth it.
  std::optional<LinearProgram::Solution> SolveWithTrees() {
    std::optional<LinearProgram::Solution> solution;
    for (int i = 0; i < kMostIterations; ++i) {
      solution = program_->Solve();
      if (!solution) break;
      ReadPrices(*solution);
      if (!AddTrees(*solution)) break;
    }
    return solution;
  }

  // What binds may be busy for the time found; the next solution is least for all else. False if
  // nothing else is left.
  bool ReleaseBinding(const LinearProgram::Solution& solution) {
    if (released_.empty()) released_.assign(prices_.size(), false);
    bool left = false;
    for (std::size_t r = 0; r < prices_.size(); ++r) {
      const double rate = bundles_.rates()[r] / fastest_;
      if (released_[r] || rate <= 0) continue;
      if (prices_[r] * rate > kBinds) {
        released_[r] = true;
        program_->Release(RowOf(r), 0, rate * solution.variables[0] * kReleased);
      } else {
        left = true;
      }
    }
    return left;
  }

  void CollectTraffic() {
    for (const GroupTraffic& type : FindGroupTraffic(deliveries_, demand_, resources_)) {
      for (GroupTraffic& part : doors_.Parts(type)) {
        total_bytes_ += static_cast<double>(part.bytes);
        result_.traffic.push_back({std::move(part), {}});
      }
    }
  }

  void MakeRows() {
    std::vector<std::pair<double, double>> rows;
    for (const TreeTraffic& type : result_.traffic) {
      rows.emplace_back(Share(type), Share(type));
    }
    rows.insert(rows.end(), bundles_.rates().size(), {-kUnbounded, 0});
    program_.emplace(rows);
    std::vector<std::pair<std::int32_t, double>> capacity;
    for (std::size_t r = 0; r < bundles_.rates().size(); ++r) {
      if (bundles_.rates()[r] > 0) capacity.emplace_back(RowOf(r), -bundles_.rates()[r] / fastest_);
    }
    program_->AddColumn(1, capacity);
    columns_.emplace_back(0, DeliveryTree{});  // the time's
  }

  double Share(const TreeTraffic& type) const {
    return static_cast<double>(type.bytes) / total_bytes_;
  }
  std::int32_t RowOf(std::size_t resource) const {
    return static_cast<std::int32_t>(result_.traffic.size() + resource);
  }

  Result<void> AddFirstTrees() {
    ways_.Price(prices_);
    for (std::size_t k = 0; k < result_.traffic.size(); ++k) {
      const TreeTraffic& type = result_.traffic[k];
      ways_.Find(HopCosts(k));
      bool reached = false;
      for (const DomainIndex source : type.holders) {
        Candidate best = CheapestTree(type, source);
        if (best.cost == kNoWay) continue;
        Add(k, std::move(best.tree));
        reached = true;
      }
      if (!reached) return Unreachable(type);
    }
    return {};
  }

  // Every type has a tree, so that there is a solution; but the solver is of finite precision.
  tl::unexpected<Error> Unsolved() const {
    double slowest = fastest_;
    for (const double rate : bundles_.rates()) {
      if (rate > 0) slowest = std::min(slowest, rate);
    }
    if (slowest >= kLeastRateShare * fastest_) {
      return InternalError("planner", "the program of delivery trees has no solution");
    }
    return InputError("cluster",
                      fmt::format("rates between domains of {:g} and {:g} GB/s are too far apart "
                                  "to be planned together",
                                  slowest, fastest_),
                      "give 0 where nothing passes");
  }

  tl::unexpected<Error> Unreachable(const TreeTraffic& type) const {
    const DeliveryGroup& group = deliveries_.groups[type.group];
    const RankIndex holder = group.classes[type.classes[0]].holders[0];
    std::string missing;
    for (const GroupDomain& domain : group.domains) {
      const bool reached = std::ranges::any_of(
          type.holders, [&](DomainIndex u) { return ways_.From(u, domain.domain).cost < kNoWay; });
      if (!reached && missing.empty()) missing = std::to_string(domain.domain);
    }
    if (missing.empty()) missing = std::to_string(group.domains[0].domain);
    return InputError("cluster: fabric.railCrossing",
                      "domain " + missing + " needs bytes of rank " + std::to_string(holder) +
                          " and shares no rail with a domain that has them, nor with one that "
                          "could pass them on, and nothing crosses between rails",
                      "give it a NIC on such a rail, or leave it out of the job");
  }

  const std::vector<double>& HopCosts(std::size_t k) {
    if (hop_costs_.empty()) hop_costs_.resize(result_.traffic.size());
    std::vector<double>& costs = hop_costs_[k];
    if (costs.empty()) costs = doors_.Of(result_.traffic[k]);
    return costs;
  }

  Candidate CheapestTree(const TreeTraffic& type, DomainIndex source) const {
    Candidate best = TwoLevelTree(type, source);
    if (best.cost == kNoWay) return PathTree(type, source);
    const std::vector<GroupDomain>& receivers = deliveries_.groups[type.group].domains;
    const auto keep = [&best](Candidate deep) {
      if (deep.cost < best.cost * kDeeper) best = std::move(deep);
    };
    if (receivers.size() >= 3 && receivers.size() <= kMostForDeepTrees) {
      keep(DeepTree(type, source, kNoHelper));
    }
    if (domain_count_ > kMostForHelpers || receivers.size() < 2) return best;
    for (std::size_t h = 0; h < domain_count_; ++h) {
      const auto helper = static_cast<DomainIndex>(h);
      if (std::ranges::binary_search(type.holders, helper) ||
          std::ranges::binary_search(receivers, helper, {}, &GroupDomain::domain)) {
        continue;
      }
      keep(DeepTree(type, source, helper));
    }
    return best;
  }

  // Every receiving domain from the source or over one relay, whichever is cheaper.
  Candidate TwoLevelTree(const TreeTraffic& type, DomainIndex source) const {
    const std::vector<GroupDomain>& domains = deliveries_.groups[type.group].domains;
    double direct = 0;
    for (const GroupDomain& to : domains) direct += ways_.From(source, to.domain).cost;
    double least = direct;
    DomainIndex relay = source;
    for (std::size_t h = 0; domains.size() > 1 && h < domain_count_; ++h) {
      const auto by = static_cast<DomainIndex>(h);
      if (by == source || ways_.From(source, by).cost == kNoWay) continue;
      const double cost = OverRelay(domains, source, by, type);
      if (cost >= least) continue;
      least = cost;
      relay = by;
    }
    Candidate found;
    found.cost = least;
    if (least == kNoWay) return found;
    found.tree.source = source;
    if (relay != source) AddHop(source, relay, kFromHolders, found.tree);
    for (const GroupDomain& to : domains) {
      if (to.domain == relay) continue;
      const bool relayed = relay != source && ways_.From(relay, to.domain).cost + kRelayCost <
                                                  ways_.From(source, to.domain).cost;
      AddHop(relayed ? relay : source, to.domain, relayed ? 0 : kFromHolders, found.tree);
    }
    return found;
  }

  double OverRelay(const std::vector<GroupDomain>& domains, DomainIndex source, DomainIndex by,
                   const TreeTraffic& type) const {
    double cost = ways_.From(source, by).cost;
    bool receives = false;
    for (const GroupDomain& to : domains) {
      if (to.domain == by) {
        receives = true;
      } else {
        cost += std::min(ways_.From(source, to.domain).cost,
                         ways_.From(by, to.domain).cost + kRelayCost);
      }
    }
    if (!receives && std::ranges::binary_search(type.holders, by)) return kNoWay;
    return receives ? cost : cost + kHelperCost;
  }

  // The cheapest path to each receiving domain, over any others: where rails lead there only so.
  Candidate PathTree(const TreeTraffic& type, DomainIndex source) const {
    std::vector<double> cost(domain_count_, kNoWay);
    std::vector<DomainIndex> parent(domain_count_, source);
    std::vector<bool> settled(domain_count_, false);
    cost[At(source)] = 0;
    for (std::size_t round = 0; round < domain_count_; ++round) {
      std::size_t u = domain_count_;
      for (std::size_t d = 0; d < domain_count_; ++d) {
        if (!settled[d] && cost[d] < kNoWay && (u == domain_count_ || cost[d] < cost[u])) u = d;
      }
      if (u == domain_count_) break;
      settled[u] = true;
      for (std::size_t v = 0; v < domain_count_; ++v) {
        const double by =
            cost[u] + ways_.From(static_cast<DomainIndex>(u), static_cast<DomainIndex>(v)).cost +
            kRelayCost;
        if (settled[v] || by >= cost[v]) continue;
        cost[v] = by;
        parent[v] = static_cast<DomainIndex>(u);
      }
    }
    Candidate found;
    found.tree.source = source;
    std::map<DomainIndex, std::int32_t> hop_to{{source, kFromHolders}};
    double total = 0;
    for (const GroupDomain& to : deliveries_.groups[type.group].domains) {
      if (cost[At(to.domain)] == kNoWay) return found;
      std::vector<DomainIndex> path;
      for (DomainIndex d = to.domain; !hop_to.contains(d); d = parent[At(d)]) path.push_back(d);
      for (auto d = path.rbegin(); d != path.rend(); ++d) {
        AddHop(parent[At(*d)], *d, hop_to[parent[At(*d)]], found.tree);
        hop_to[*d] = static_cast<std::int32_t>(found.tree.hops.size()) - 1;
        total += ways_.From(parent[At(*d)], *d).cost;
      }
    }
    found.cost = total;
    return found;
  }

  // The cheapest tree over the receiving domains and `helper`, if that helps anyone.
  Candidate DeepTree(const TreeTraffic& type, DomainIndex source, DomainIndex helper) const {
    std::vector<DomainIndex> nodes{source};
    for (const GroupDomain& to : deliveries_.groups[type.group].domains) nodes.push_back(to.domain);
    if (helper != kNoHelper) nodes.push_back(helper);
    std::vector<std::vector<double>> cost(nodes.size(), std::vector<double>(nodes.size(), kNoWay));
    for (std::size_t u = 0; u < nodes.size(); ++u) {
      for (std::size_t v = 1; v < nodes.size(); ++v) {
        if (u != v) cost[u][v] = ways_.From(nodes[u], nodes[v]).cost + (u > 0 ? kRelayCost : 0);
      }
    }
    const std::vector<std::size_t> parents = LeastArborescence(cost);
    Candidate found;
    if (parents.empty()) return found;
    const bool helps = std::ranges::find(parents, nodes.size() - 1) != parents.end();
    if (helper != kNoHelper && !helps) return found;
    found.cost = helper == kNoHelper ? 0 : kHelperCost;
    found.tree.source = source;
    std::vector<std::int32_t> hop_to(nodes.size(), kFromHolders);
    std::vector<std::size_t> level{0};
    while (!level.empty()) {
      std::vector<std::size_t> next;
      for (const std::size_t u : level) {
        for (std::size_t v = 1; v < nodes.size(); ++v) {
          if (parents[v] != u) continue;
          AddHop(nodes[u], nodes[v], hop_to[u], found.tree);
          hop_to[v] = static_cast<std::int32_t>(found.tree.hops.size()) - 1;
          found.cost += cost[u][v];
          next.push_back(v);
        }
      }
      level = std::move(next);
    }
    return found;
  }

  void AddHop(DomainIndex from, DomainIndex to, std::int32_t parent, DeliveryTree& tree) const {
    const DomainWay& way = ways_.From(from, to);
    tree.hops.push_back({from, to, way.out, way.in, parent});
  }

  // Uses and preferences of a tree, as a column.
  void Add(std::size_t k, DeliveryTree tree) {
    std::map<std::int32_t, double> uses;
    double cost = 0;
    std::set<DomainIndex> receivers;
    for (const GroupDomain& to : deliveries_.groups[result_.traffic[k].group].domains) {
      receivers.insert(to.domain);
    }
    for (const DomainHop& hop : tree.hops) {
      for (const FabricUse& use : bundles_.UsesOf(hop.from, hop.out, hop.to, hop.in)) {
        uses[use.resource] += use.share;
      }
      cost +=
          hop_costs_[k][ways_.Door(hop.from, hop.out)] + hop_costs_[k][ways_.Door(hop.to, hop.in)];
      if (hop.parent != kFromHolders) cost += kRelayCost;
      if (bundles_.Crosses(hop.out, hop.in)) cost += kCrossingCost;
      if (!receivers.contains(hop.to)) cost += kHelperCost;
    }
    std::vector<std::pair<std::int32_t, double>> terms{{static_cast<std::int32_t>(k), 1.0}};
    for (const auto& [resource, share] : uses) terms.emplace_back(RowOf(At(resource)), share);
    program_->AddColumn(cost, terms);
    columns_.emplace_back(k, std::move(tree));
  }

  void ReadPrices(const LinearProgram::Solution& solution) {
    for (std::size_t r = 0; r < prices_.size(); ++r) {
      prices_[r] = std::max(0.0, -solution.row_duals[At(RowOf(r))]);
    }
  }

  // Trees that are cheaper than what their type is charged; false if none would help noticeably.
  bool AddTrees(const LinearProgram::Solution& solution) {
    ways_.Price(prices_);
    double least_value = 0;  // of the program with all trees there are, at least
    std::vector<std::pair<std::size_t, DeliveryTree>> added;
    for (std::size_t k = 0; k < result_.traffic.size(); ++k) {
      const TreeTraffic& type = result_.traffic[k];
      ways_.Find(HopCosts(k));
      Candidate best;
      for (const DomainIndex source : type.holders) {
        Candidate one = CheapestTree(type, source);
        if (one.cost < best.cost) best = std::move(one);
      }
      const double charged = solution.row_duals[k];
      least_value += Share(type) * std::min(charged, best.cost);
      if (best.cost < charged - 1e-9) added.emplace_back(k, std::move(best.tree));
    }
    if (added.empty() || least_value > solution.value * (1 - kNearEnough)) return false;
    for (auto& [k, tree] : added) Add(k, std::move(tree));
    return true;
  }

  void Read(const LinearProgram::Solution& solution) {
    std::vector<std::vector<std::pair<double, DeliveryTree>>> used(result_.traffic.size());
    // Types of fewer bytes than the solver's tolerance go by the tree it gives most, if any.
    std::vector<std::size_t> most(result_.traffic.size(), 0);
    for (std::size_t c = 1; c < columns_.size(); ++c) {
      std::size_t& best = most[columns_[c].first];
      if (best == 0 || solution.variables[c] > solution.variables[best]) best = c;
    }
    for (std::size_t c = 1; c < columns_.size(); ++c) {
      const std::size_t k = columns_[c].first;
      const double share = solution.variables[c] / Share(result_.traffic[k]);
      if (share > kLeastShare || c == most[k]) {
        used[k].emplace_back(std::max(share, kLeastShare), std::move(columns_[c].second));
      }
    }
    for (std::size_t k = 0; k < used.size(); ++k) {
      TreeTraffic& type = result_.traffic[k];
      double whole = 0;
      for (const auto& [share, tree] : used[k]) whole += share;
      double sum = 0;
      std::int64_t given = 0;
      for (auto& [share, tree] : used[k]) {
        sum += share / whole;
        const bool last = &tree == &used[k].back().second;
        const std::int64_t upto =
            last ? type.bytes
                 : AlignDown(static_cast<std::int64_t>(sum * static_cast<double>(type.bytes)));
        tree.bytes = std::max<std::int64_t>(0, upto - given);
        given = std::max(given, upto);
        if (tree.bytes > 0) type.trees.push_back(std::move(tree));
      }
    }
  }

  const Deliveries& deliveries_;
  const Demand& demand_;
  const RankResources& resources_;
  const RailBundles& bundles_;
  std::size_t domain_count_;
  DomainWays ways_;
  DoorCosts doors_;
  double total_bytes_ = 0;
  double fastest_ = 0;
  DeliveryTrees result_;
  std::optional<ColumnProgram> program_;
  std::vector<std::pair<std::size_t, DeliveryTree>> columns_;  // of the program: type and tree
  std::vector<double> prices_;                                 // per resource
  std::vector<bool> released_;                                 // per resource: it binds
  std::vector<std::vector<double>> hop_costs_;                 // per type, by DomainWays::Door()
};

}  // namespace

double TreeSearchSize(const Deliveries& deliveries, const RankResources& resources,
                      const RailBundles& bundles) {
  double size = 0;
  for (const DeliveryGroup& group : deliveries.groups) {
    if (group.local) continue;
    size += static_cast<double>(group.domains.size() * resources.domains.size());
  }
  const auto domains = static_cast<double>(resources.domains.size());
  const auto count = static_cast<double>(bundles.count());
  return size + domains * domains * count * count;
}

Result<DeliveryTrees> FindDeliveryTrees(const Deliveries& deliveries, const Demand& demand,
                                        const RankResources& resources,
                                        const RailBundles& bundles) {
  return TreeSearch(deliveries, demand, resources, bundles).Run();
}

}  // namespace reshard
