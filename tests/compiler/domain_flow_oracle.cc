#include "tests/compiler/domain_flow_oracle.h"

#include <coin/ClpSimplex.hpp>
#include <map>
#include <utility>
#include <vector>

#include "tests/compiler/domain_classes.h"

namespace reshard {
namespace {

class FlowProgram {
 public:
  FlowProgram() { model_.setLogLevel(0); }
  int AddVariable(double cost) {
    model_.addColumn(0, nullptr, nullptr, 0, COIN_DBL_MAX, cost);
    return model_.numberColumns() - 1;
  }
  // Coefficients by variable.
  void AddRow(const std::map<int, double>& terms, double low, double high) {
    rows_.push_back({terms, low, high});
  }
  double Solve() {
    for (const Row& row : rows_) {
      std::vector<int> columns;
      std::vector<double> values;
      for (const auto& [column, value] : row.terms) {
        columns.push_back(column);
        values.push_back(value);
      }
      model_.addRow(static_cast<int>(columns.size()), columns.data(), values.data(), row.low,
                    row.high);
    }
    model_.primal();
    return model_.status() == 0 ? model_.objectiveValue() : -1;
  }

 private:
  struct Row {
    std::map<int, double> terms;
    double low;
    double high;
  };
  ClpSimplex model_;
  std::vector<Row> rows_;
};

}  // namespace

double FlowOptimumSeconds(const JobRecords& job, const Demand& demand,
                          const RankResources& resources) {
  const DomainClasses classes = MakeDomainClasses(job, demand);
  const double total = classes.total_bytes;
  if (total <= 0) return 0;
  FlowProgram program;
  const int time = program.AddVariable(1);
  const std::size_t domains = resources.domains.size();
  std::vector<std::map<int, double>> egress(domains);
  std::vector<std::map<int, double>> ingress(domains);
  std::vector<double> received(domains, 0.0);
  for (const auto& [sets, bytes] : classes.bytes) {
    const auto& [holders, entered] = sets;
    const double share = bytes / total;
    const auto copies = static_cast<double>(entered.size());
    std::map<DomainIndex, int> sent;
    std::map<DomainIndex, int> taken;
    for (std::size_t d = 0; d < domains; ++d) {
      const auto u = static_cast<DomainIndex>(d);
      if (resources.domains[d].network_gbps <= 0) continue;
      sent[u] = program.AddVariable(0);
      egress[d][sent[u]] = 1;
      if (holders.contains(u) || entered.contains(u)) continue;
      taken[u] = program.AddVariable(0);
      ingress[d][taken[u]] = 1;
    }
    std::map<int, double> all;
    std::map<int, double> first;
    for (const auto& [u, variable] : sent) {
      all[variable] = 1;
      if (holders.contains(u)) first[variable] = 1;
    }
    for (const auto& [h, variable] : taken) all[variable] = -1;
    program.AddRow(all, share * copies, share * copies);
    program.AddRow(first, share, COIN_DBL_MAX);
    for (const DomainIndex u : entered) {
      received[static_cast<std::size_t>(u)] += share;
      if (!sent.contains(u)) continue;
      std::map<int, double> onward{{sent[u], 1}};
      for (const auto& [h, variable] : taken) onward[variable] = -1;
      program.AddRow(onward, -COIN_DBL_MAX, share * (copies - 1));
    }
    for (const auto& [h, variable] : taken) {
      std::map<int, double> onward{{sent[h], 1}};
      for (const auto& [other, other_variable] : taken) {
        onward[other_variable] = other == h ? -copies : -1;
      }
      program.AddRow(onward, -COIN_DBL_MAX, 0);
    }
  }
  for (std::size_t d = 0; d < domains; ++d) {
    egress[d][time] = -resources.domains[d].network_gbps;
    program.AddRow(egress[d], -COIN_DBL_MAX, 0);
    ingress[d][time] = -resources.domains[d].network_gbps;
    program.AddRow(ingress[d], -COIN_DBL_MAX, -received[d]);
  }
  return program.Solve() * total / 1e9;
}

}  // namespace reshard
