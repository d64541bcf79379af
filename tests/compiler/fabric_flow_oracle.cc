#include "tests/compiler/fabric_flow_oracle.h"

#include <algorithm>
#include <coin/ClpSimplex.hpp>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "tests/compiler/domain_classes.h"

namespace reshard {
namespace {

using Terms = std::map<int, double>;

// The NICs that the job can use, and all there are, as rates by place.
struct Nics {
  std::map<std::pair<DomainIndex, std::int32_t>, double> usable;  // by domain and rail
  std::map<std::int32_t, double> of_rail;
  std::map<DomainIndex, double> of_domain;
};

Nics NicsOf(const JobRecords& job, const Cluster& cluster) {
  Nics nics;
  for (const Nic& nic : cluster.nics) {
    if (nic.gbps <= 0) continue;
    const double gbps = nic.gbps * job.options.nic_share;
    nics.of_rail[nic.rail] += gbps;
    nics.of_domain[nic.domain] += gbps;
    for (const Rank& rank : job.ranks) {
      if (std::find(nic.gpus.begin(), nic.gpus.end(), rank.gpu) == nic.gpus.end()) continue;
      nics.usable[{nic.domain, nic.rail}] += gbps;
      break;
    }
  }
  return nics;
}

class FabricProgram {
 public:
  FabricProgram(const JobRecords& job, const Cluster& cluster)
      : cluster_(cluster), nics_(NicsOf(job, cluster)) {
    model_.setLogLevel(0);
    model_.addColumn(0, nullptr, nullptr, 0, COIN_DBL_MAX, 1);  // T
  }

  void AddClass(const DomainSet& holders, const DomainSet& entered, double bytes) {
    std::map<std::pair<DomainIndex, DomainIndex>, Terms> between;
    for (const auto& [from, from_gbps] : nics_.usable) {
      for (const auto& [to, to_gbps] : nics_.usable) {
        const bool crosses = from.second != to.second;
        if (from.first == to.first || holders.contains(to.first)) continue;
        if (crosses && cluster_.fabric.rail_crossing == RailCrossing::kNone) continue;
        const int x = AddVariable();
        between[{from.first, to.first}][x] = 1;
        sent_[from][x] = 1;
        received_[to][x] = 1;
        if (crosses && cluster_.fabric.rail_crossing == RailCrossing::kSpine) {
          leaves_rail_[from.second][x] = 1;
          enters_rail_[to.second][x] = 1;
        }
        AddToSwitches(from.first, to.first, x);
      }
    }
    for (const DomainIndex needer : entered) {
      std::map<DomainIndex, Terms> balance;  // of what comes in and goes on
      Terms arrives;
      for (const auto& [pair, sent] : between) {
        if (pair.first == needer) continue;
        const int f = AddVariable();
        Terms within = sent;
        within[f] = -1;
        AddRow(within, 0, COIN_DBL_MAX);
        if (!holders.contains(pair.first)) balance[pair.first][f] = -1;
        (pair.second == needer ? arrives : balance[pair.second])[f] = 1;
      }
      AddRow(arrives, bytes, bytes);
      for (const auto& [domain, terms] : balance) AddRow(terms, 0, 0);
    }
  }

  double Solve() {
    for (const auto& [place, gbps] : nics_.usable) {
      AddCapacity(sent_[place], gbps);
      AddCapacity(received_[place], gbps);
    }
    for (const auto& [rail, gbps] : nics_.of_rail) {
      AddCapacity(leaves_rail_[rail], gbps / cluster_.fabric.spine_oversubscription);
      AddCapacity(enters_rail_[rail], gbps / cluster_.fabric.spine_oversubscription);
    }
    for (std::size_t i = 0; i < cluster_.fabric.switches.size(); ++i) {
      const Switch& element = cluster_.fabric.switches[i];
      double gbps = 0;
      for (const DomainIndex d : element.domains) gbps += nics_.of_domain[d];
      AddCapacity(leaves_switch_[i], gbps / element.oversubscription);
      AddCapacity(enters_switch_[i], gbps / element.oversubscription);
    }
    model_.primal();
    return model_.status() == 0 ? model_.objectiveValue() : -1;
  }

 private:
  int AddVariable() {
    model_.addColumn(0, nullptr, nullptr, 0, COIN_DBL_MAX, 0);
    return model_.numberColumns() - 1;
  }
  void AddToSwitches(DomainIndex from, DomainIndex to, int x) {
    for (std::size_t i = 0; i < cluster_.fabric.switches.size(); ++i) {
      const std::vector<DomainIndex>& under = cluster_.fabric.switches[i].domains;
      const bool leaves = std::find(under.begin(), under.end(), from) != under.end();
      const bool enters = std::find(under.begin(), under.end(), to) != under.end();
      if (leaves && !enters) leaves_switch_[i][x] = 1;
      if (!leaves && enters) enters_switch_[i][x] = 1;
    }
  }
  void AddRow(const Terms& terms, double low, double high) {
    std::vector<int> columns;
    std::vector<double> values;
    for (const auto& [column, value] : terms) {
      columns.push_back(column);
      values.push_back(value);
    }
    model_.addRow(static_cast<int>(columns.size()), columns.data(), values.data(), low, high);
  }
  void AddCapacity(Terms terms, double gbps) {
    if (terms.empty()) return;
    terms[0] = -gbps;
    AddRow(terms, -COIN_DBL_MAX, 0);
  }

  const Cluster& cluster_;
  Nics nics_;
  ClpSimplex model_;
  std::map<std::pair<DomainIndex, std::int32_t>, Terms> sent_;
  std::map<std::pair<DomainIndex, std::int32_t>, Terms> received_;
  std::map<std::int32_t, Terms> leaves_rail_;
  std::map<std::int32_t, Terms> enters_rail_;
  std::map<std::size_t, Terms> leaves_switch_;
  std::map<std::size_t, Terms> enters_switch_;
};

}  // namespace

double FabricFlowOptimumSeconds(const JobRecords& job, const Demand& demand,
                                const Cluster& cluster) {
  const DomainClasses classes = MakeDomainClasses(job, demand);
  const double total = classes.total_bytes;
  if (total <= 0) return 0;
  // In shares of the whole and GB/s, so that the solver sees numbers near one.
  FabricProgram program(job, cluster);
  for (const auto& [sets, bytes] : classes.bytes) {
    program.AddClass(sets.first, sets.second, bytes / total);
  }
  const double optimum = program.Solve();
  return optimum < 0 ? optimum : optimum * total / 1e9;
}

}  // namespace reshard
