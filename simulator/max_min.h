// Max-min fair rates: no flow's rate can be raised without lowering that of a flow no faster.
//
// Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): all rates rise
// together until a resource is full or a flow reaches its cap; the flows it holds keep that rate,
// the others go on. A resource's fair rate is what is left of it over the shares of its rising
// flows. It never falls while flows freeze at lower rates, so resources leave a heap in order of
// it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "simulator/flow_table.h"

namespace reshard {

// Solves one set of flows after another without allocating. Keeps references to both arguments.
class MaxMinSolver {
 public:
  MaxMinSolver(const FlowTable& table, std::span<const double> capacities);

  // Writes rates[f] for each f of `flows`. `resources` are all that these use, and members[r] the
  // flows of the set that use r, for each r of them: the set shares nothing with other flows.
  // A flow without resources and cap gets an infinite rate.
  void Solve(std::span<const FlowIndex> flows, std::span<const ResourceIndex> resources,
             std::span<const std::vector<FlowIndex>> members, std::span<double> rates);

 private:
  struct Fill {
    double left = 0;          // capacity that no frozen flow uses
    double share = 0;         // sum over rising flows
    std::int32_t rising = 0;  // flows not frozen yet
  };
  using Candidate = std::pair<double, ResourceIndex>;  // (fair rate, resource)

  double FairRate(ResourceIndex resource) const;
  void Freeze(FlowIndex flow, double rate, std::span<double> rates);
  void FreezeCapped(double limit, std::span<double> rates);

  const FlowTable& table_;
  std::span<const double> capacities_;
  std::vector<Fill> fills_;        // per resource
  std::vector<Candidate> heap_;    // least fair rate first
  std::vector<FlowIndex> capped_;  // flows with a cap, ascending by it
  std::size_t next_capped_ = 0;
};

// Rates of all flows of `table`, resources numbered 0 .. capacities.size() - 1.
std::vector<double> MaxMinRates(const FlowTable& table, std::span<const double> capacities);

}  // namespace reshard
