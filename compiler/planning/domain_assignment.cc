#include "compiler/planning/domain_assignment.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "compiler/planning/linear_program.h"

namespace reshard {
namespace {

// Terms of the program beyond which it is not tried: helpers are left out first.
constexpr std::size_t kMaxTerms = 400'000;
// Preference among equal optima, far below what a second is worth: direct before helpers.
constexpr double kHelperCost = 1e-6;
constexpr double kStarCost = 1e-7;

class DomainProgram {
 public:
  DomainProgram(const Deliveries& deliveries, const Demand& demand, const RankResources& resources)
      : deliveries_(deliveries), demand_(demand), resources_(resources) {}

  std::optional<DomainAssignment> Run() {
    traffic_ = FindGroupTraffic(deliveries_, demand_, resources_);
    for (const GroupTraffic& type : traffic_) total_bytes_ += static_cast<double>(type.bytes);
    if (!Overlaps()) return std::nullopt;
    const std::size_t domains = resources_.domains.size();
    if (traffic_.size() * domains > kMaxTerms) helpers_ = false;
    if (traffic_.size() > kMaxTerms / 8) return std::nullopt;
    Build();
    const std::optional<LinearProgram::Solution> solution = program_.Solve();
    if (!solution) return std::nullopt;
    return Read(*solution);
  }

 private:
  // Of all bytes, since the solver's tolerances are absolute and jobs may be small.
  double Share(const GroupTraffic& type) const {
    return static_cast<double>(type.bytes) / total_bytes_;
  }

  double Rate(DomainIndex d) const {
    return resources_.domains[static_cast<std::size_t>(d)].network_gbps;
  }

  // Some domain sends over the network as a holder and receives over it.
  bool Overlaps() const {
    std::set<DomainIndex> holders;
    std::set<DomainIndex> receivers;
    for (const GroupTraffic& type : traffic_) {
      holders.insert(type.holders.begin(), type.holders.end());
      for (const GroupDomain& domain : deliveries_.groups[type.group].domains) {
        receivers.insert(domain.domain);
      }
    }
    return std::ranges::any_of(receivers, [&](DomainIndex d) { return holders.contains(d); });
  }

  bool Receives(const GroupTraffic& type, DomainIndex d) const {
    return std::ranges::any_of(deliveries_.groups[type.group].domains,
                               [d](const GroupDomain& domain) { return domain.domain == d; });
  }

  void Build() {
    const std::size_t domains = resources_.domains.size();
    std::vector<double> received(domains, 0.0);
    for (const GroupTraffic& type : traffic_) {
      for (const GroupDomain& domain : deliveries_.groups[type.group].domains) {
        received[static_cast<std::size_t>(domain.domain)] += Share(type);
      }
    }
    // Time in units of what the fastest domain needs for all bytes, so that the preferences among
    // equal optima weigh as little in large clusters as in small ones.
    for (const DomainResources& domain : resources_.domains) {
      fastest_gbps_ = std::max(fastest_gbps_, domain.network_gbps);
    }
    time_ = program_.AddVariable(1.0);
    for (std::size_t d = 0; d < domains; ++d) {
      const double rate = resources_.domains[d].network_gbps / fastest_gbps_;
      egress_.push_back(program_.AddRow(-kUnbounded, 0));
      ingress_.push_back(program_.AddRow(-kUnbounded, -received[d]));
      if (rate > 0) {
        program_.AddTerm(egress_.back(), time_, -rate);
        program_.AddTerm(ingress_.back(), time_, -rate);
      }
    }
    for (const GroupTraffic& type : traffic_) AddTraffic(type);
  }

  void AddTraffic(const GroupTraffic& type) {
    const DeliveryGroup& group = deliveries_.groups[type.group];
    const auto copies = static_cast<double>(group.domains.size());
    const std::int32_t all = program_.AddRow(Share(type), Share(type));
    const std::int32_t enter = program_.AddRow(0, 0);
    Variables variables;
    const auto egress = [this](DomainIndex d) { return egress_[static_cast<std::size_t>(d)]; };
    for (const DomainIndex u : type.holders) {
      const std::int32_t tree = program_.AddVariable(0);
      program_.AddTerm(all, tree, 1);
      program_.AddTerm(enter, tree, 1);
      program_.AddTerm(egress(u), tree, 1);
      variables.tree.push_back(tree);
      if (copies < 2) continue;
      const std::int32_t star = program_.AddVariable(kStarCost);
      program_.AddTerm(all, star, 1);
      program_.AddTerm(egress(u), star, copies);
      variables.star.push_back(star);
    }
    for (const GroupDomain& domain : group.domains) {
      const std::int32_t first = program_.AddVariable(0);
      program_.AddTerm(enter, first, -1);
      if (copies > 1) program_.AddTerm(egress(domain.domain), first, copies - 1);
      variables.entry.emplace_back(domain.domain, first);
    }
    for (std::size_t h = 0; helpers_ && h < resources_.domains.size(); ++h) {
      const auto d = static_cast<DomainIndex>(h);
      if (Rate(d) <= 0 || Receives(type, d) || std::ranges::binary_search(type.holders, d)) {
        continue;
      }
      const std::int32_t helper = program_.AddVariable(kHelperCost);
      program_.AddTerm(enter, helper, -1);
      program_.AddTerm(egress(d), helper, copies);
      program_.AddTerm(ingress_[h], helper, 1);
      variables.entry.emplace_back(d, helper);
    }
    variables_.push_back(std::move(variables));
  }

  DomainAssignment Read(const LinearProgram::Solution& solution) const {
    const auto value = [&solution](std::int32_t variable) {
      return std::max(0.0, solution.variables[static_cast<std::size_t>(variable)]);
    };
    DomainAssignment assignment;
    assignment.seconds = value(time_) * total_bytes_ / (fastest_gbps_ * kBytesPerGB);
    assignment.groups.resize(deliveries_.groups.size());
    std::vector<std::map<DomainIndex, double>> entries(deliveries_.groups.size());
    for (std::size_t k = 0; k < traffic_.size(); ++k) {
      const GroupTraffic& type = traffic_[k];
      std::vector<DomainShare> shares;
      for (std::size_t i = 0; i < type.holders.size(); ++i) {
        const double star =
            i < variables_[k].star.size() ? value(variables_[k].star[i]) / Share(type) : 0;
        shares.push_back({type.holders[i], value(variables_[k].tree[i]) / Share(type), star});
      }
      GroupAssignment& group = assignment.groups[type.group];
      group.of_class.resize(deliveries_.groups[type.group].classes.size());
      for (const std::size_t c : type.classes) group.of_class[c] = shares;
      for (const auto& [domain, variable] : variables_[k].entry) {
        entries[type.group][domain] += value(variable);
      }
    }
    for (std::size_t g = 0; g < entries.size(); ++g) {
      double total = 0;
      for (const auto& [domain, share] : entries[g]) total += share;
      for (const auto& [domain, share] : entries[g]) {
        if (total > 0 && share > kLeastShare * total) {
          assignment.groups[g].entries.push_back({domain, share / total, 0});
        }
      }
    }
    for (std::size_t d = 0; d < egress_.size(); ++d) {
      assignment.weights.egress.push_back(
          std::max(0.0, -solution.row_duals[static_cast<std::size_t>(egress_[d])]));
      assignment.weights.ingress.push_back(
          std::max(0.0, -solution.row_duals[static_cast<std::size_t>(ingress_[d])]));
    }
    return assignment;
  }

  // Entries below this share of a group are the solver's rounding.
  static constexpr double kLeastShare = 1e-6;

  struct Variables {
    std::vector<std::int32_t> tree;
    std::vector<std::int32_t> star;
    std::vector<std::pair<DomainIndex, std::int32_t>> entry;
  };
  const Deliveries& deliveries_;
  const Demand& demand_;
  const RankResources& resources_;
  bool helpers_ = true;
  double total_bytes_ = 0;
  double fastest_gbps_ = 0;
  std::vector<GroupTraffic> traffic_;
  LinearProgram program_;
  std::int32_t time_ = 0;
  std::vector<std::int32_t> egress_, ingress_;
  std::vector<Variables> variables_;
};

}  // namespace

std::optional<DomainAssignment> AssignDomains(const Deliveries& deliveries, const Demand& demand,
                                              const RankResources& resources) {
  return DomainProgram(deliveries, demand, resources).Run();
}

}  // namespace reshard
